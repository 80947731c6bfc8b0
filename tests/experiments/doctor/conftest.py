"""Runs to be examined, and a model that serves as a patient."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coevo.engines.loading import EMBEDDED_FOLDER
from coevo.experiments.doctor.asked import Asked, Wish, resolve
from coevo.experiments.doctor.finding import Finding


@pytest.fixture
def asked(tmp_path: Path) -> Callable[..., Asked]:
    """Makes a resolved run; keywords are fields of the wish."""

    def make(**wish: Any) -> Asked:
        return resolve(Wish(runs_dir=str(tmp_path / "runs"), **wish))

    return make


@pytest.fixture
def altered_model(tmp_path: Path) -> Callable[..., Path]:
    """Makes a copy of the embedded model with other entries in its `config.json`."""

    def make(**changes: Any) -> Path:
        folder = Path(shutil.copytree(EMBEDDED_FOLDER, tmp_path / "model"))
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | changes))
        return folder

    return make


@pytest.fixture
def says() -> Callable[..., None]:
    """Checks a finding: its state, words in what it found, and advice exactly where there is something to do."""

    def check(finding: Finding, state: str, *words: str, advice: str = "") -> None:
        assert finding.state == state, finding
        for word in words:
            assert word in finding.found
        assert advice in finding.advice
        assert bool(finding.advice) == (state != "pass")

    return check

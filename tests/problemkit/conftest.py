"""Real instance files, where there are any."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data():
    """The folder of published instance files beside the checkout; skips where it is missing."""
    folder = Path(__file__).resolve().parents[3] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no instance files beside the checkout (../shared/data)")
    return folder

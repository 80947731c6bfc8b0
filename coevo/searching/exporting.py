"""Write the weights that a run's history leads to as a model folder, and read them back."""

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coevo.engines.storage import STORAGE, exact_storage, to_storage
from coevo.errors import ConfigError, RunError
from coevo.searching.api import load_run
from coevo.searching.replaying import Load, Replay, replayed

if TYPE_CHECKING:
    from coevo.engines.replay import ReplayedWeights


@dataclass(frozen=True, slots=True)
class Export:
    """A replay and what was written of it.

    Attributes:
        replay: What the replay came to; nothing is written unless it agrees.
        folder: The model folder, or None.
        sha256: Name -> SHA-256 of every weight file in it.
    """

    replay: Replay
    folder: str | None
    sha256: dict[str, str]


def export_run(
    path: str | Path,
    to: str | Path,
    *,
    model: str | None = None,
    load: Load = load_run,
    until: int | None = None,
) -> Export:
    """Write a run's weights as a Hugging Face folder: `coevo export` as a function.

    The folder appears whole or not at all, and what was written has been read again and found to be the run's weights.

    Args:
        path: The run directory.
        to: The folder to write; it must not exist, or be empty.
        model: The model the run began with, where that lies elsewhere now.
        load: Reads the directory.
        until: The generation whose weights are wanted; the last one if None.

    Raises:
        ConfigError: If `to` is taken.
        RunError: As `replay_run`; or if what was written does not read back as what was replayed.
        ModelError: If the model cannot be loaded.
    """
    target = Path(to).absolute()
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise ConfigError(f"expected a new or empty folder for --to, got {to}, which is taken; name another")
    report, weights = replayed(load(path), model, until)
    if not report.agrees:
        return Export(report, None, {})
    return Export(report, str(target), _write(weights, target, report.fingerprint))


def _write(weights: "ReplayedWeights", target: Path, fingerprint: str) -> dict[str, str]:
    """Write into a folder beside the target, read it again, and give it its name; returns file -> SHA-256."""
    from coevo.engines.exporting import export_folder

    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        folder = scratch / target.name
        export_folder(weights.folder, folder, weights.tensors())
        if (found := _fingerprint_on_disk(weights, folder)) != fingerprint:
            raise RunError(
                f"expected weights of fingerprint {fingerprint} in {folder} after writing, read {found}; check the disk"
            )
        hashes = {file.name: _sha256(file) for file in sorted(folder.glob("*.safetensors"))}
        folder.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return hashes


def _fingerprint_on_disk(weights: "ReplayedWeights", folder: Path) -> str:
    """Fingerprint of a written folder, read in pieces, as weights of the type they were replayed in."""
    from coevo.block import Block
    from coevo.engines.cells import PIECE
    from coevo.engines.checkpoint import read_headers
    from coevo.noise import fingerprint_part

    exact = STORAGE[exact_storage(weights.folder.dtype, weights.policy.update_rule)]
    total = 0
    for name, info in read_headers(folder).items():
        for piece, _, _ in Block.whole(name, info.shape).pieces(PIECE):
            total += fingerprint_part(to_storage(info.read_block(piece), exact), piece)
    return f"{total % 2**64:016x}"


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

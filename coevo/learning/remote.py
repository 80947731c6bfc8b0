"""The engines of a choice on the nodes of a Ray cluster: each opened where it is, from the same few values."""

import hashlib
import importlib.metadata
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from coevo.cluster.actor import ActorSpec
from coevo.cluster.connection import Cluster
from coevo.engines.fleet.remote import RemoteFleet
from coevo.engines.guiding import basis_file
from coevo.engines.loading import inspect_folder, resolve_model
from coevo.engines.policy import GUIDED, WeightPolicy
from coevo.errors import ModelError
from coevo.interfaces import Engine
from coevo.learning.choice import ModelChoice

CPUS_OF_A_PROCESS = 0.5
"""What a process that generates keeps of a node: engines and judges of a search take turns, as on one machine."""

_PACKAGES = ("torch", "transformers", "tokenizers")
WEIGHTS = ".safetensors"
_SAMPLES, _SAMPLE_BYTES = 64, 1 << 16
_ASK_VERSIONS = (
    "import importlib.metadata as m, json; named = m.packages_distributions(); "
    "print(json.dumps({n: m.version(named[n][0]) for n in ('vllm', 'torch', 'transformers')}))"
)
"""By the names of what is imported: vLLM's build for CPUs is a package of another name."""
_ASKING_S = 60.0


def open_remote_fleet(choice: ModelChoice, slots: int) -> Engine:
    """The engines of a choice, on a cluster; one is a fleet of one.

    Args:
        choice: With the address of a cluster.
        slots: Models that one engine serves at a time.

    Raises:
        CoevoError: If the cluster cannot be joined, or an engine not be opened there.
    """
    assert choice.ray is not None
    here = {"model": model_identity(choice)}
    cluster = Cluster(choice.ray)
    try:
        cluster.announce(f"{choice.engines} engine{'s' if choice.engines > 1 else ''}")
        spec = _spec(choice, cluster)
    except BaseException:
        cluster.close()
        raise
    return RemoteFleet(cluster, spec, choice.engines, here=here, slots=slots, heals=choice.heals)


def pack_choice(choice: ModelChoice) -> dict[str, Any]:
    """The choice of one engine of a fleet, as plain values."""
    each = replace(choice.of_one_engine, model=_absolute(choice.model))
    values = {field.name: getattr(each, field.name) for field in fields(each)}
    return values | {"weights": each.weights.model_dump(mode="json")}


def unpack_choice(settings: Mapping[str, Any]) -> ModelChoice:
    """The choice that `pack_choice` made."""
    return ModelChoice(**{**settings, "weights": WeightPolicy.model_validate(settings["weights"])})


def identity_of(choice: ModelChoice) -> dict[str, str]:
    """What the answers of an engine here depend on: name -> version or hash."""
    if choice.engine == "scripted":
        return {"model": model_identity(choice)}
    return {"model": model_identity(choice), **_versions(choice)}


def model_identity(choice: ModelChoice) -> str:
    """Hash of a model's files: all of each, but of weights their size and pieces from beginning to end.

    All weights of all engines are compared besides, by their fingerprints.

    Raises:
        ModelError: If there is no such model here.
    """
    digest = hashlib.blake2b(digest_size=8)
    for file in _model_files(choice):
        size = file.stat().st_size
        digest.update(f"{file.name}\0{size}\0".encode())
        with file.open("rb") as opened:
            for at in _offsets(size) if file.suffix == WEIGHTS else range(0, size, _SAMPLE_BYTES):
                opened.seek(at)
                digest.update(opened.read(_SAMPLE_BYTES))
    return digest.hexdigest()


def _model_files(choice: ModelChoice) -> Iterator[Path]:
    if choice.engine == "scripted":
        if not Path(choice.model).is_file():
            raise ModelError(f"expected the script {choice.model}, found none; put it at that path on every node")
        yield Path(choice.model)
        return
    folder = resolve_model(choice.model)
    kinds = (".json", ".jinja", ".txt", ".model", WEIGHTS)
    yield from sorted(file for file in folder.iterdir() if file.suffix in kinds and file.is_file())
    if choice.moves and choice.weights.scope == GUIDED:
        yield basis_file(choice.weights, folder)


def _offsets(size: int) -> range:
    """Where pieces of a file begin: all of it where it is small."""
    return range(0, size, max(_SAMPLE_BYTES, size // _SAMPLES))


def _versions(choice: ModelChoice) -> dict[str, str]:
    if choice.engine != "vllm":
        return {name: importlib.metadata.version(name) for name in _PACKAGES}
    from coevo.engines.vllm.engine import interpreter

    asked = [interpreter(), "-P", "-c", _ASK_VERSIONS]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, timeout=_ASKING_S, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ModelError(f"expected vLLM under {asked[0]}, got: {error}; install it there") from error
    return {"vllm with its torch and transformers": " ".join(said.split())}


def _spec(choice: ModelChoice, cluster: Cluster) -> ActorSpec:
    """What an engine keeps of a node: a share for each of its processes, and devices where it uses them."""
    settings = pack_choice(choice)
    processes, uses_devices = 1, False
    if choice.engine != "scripted":
        is_small = choice.is_served_small(_num_parameters(choice))
        processes = settings["workers"] if is_small else choice.tensor_parallel
        uses_devices = not is_small and cluster.gpus > 0
    return ActorSpec(
        "an engine",
        "coevo.learning.hosted:servant",
        settings,
        cpus=CPUS_OF_A_PROCESS * processes,
        gpus=choice.tensor_parallel if uses_devices else 0,
        is_grouped=True,
    )


def _num_parameters(choice: ModelChoice) -> int:
    return inspect_folder(resolve_model(choice.model)).num_parameters


def _absolute(model: str) -> str:
    """A path that means the same on every node; a name stays a name."""
    return str(Path(model).resolve()) if os.sep in model and Path(model).exists() else model

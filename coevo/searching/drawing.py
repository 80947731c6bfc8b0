"""A picture of one solution: the heuristic runs in a sandbox of its own, the problem draws what it returned."""

import sys
from pathlib import Path
from typing import Any

from coevo.content import ProblemFolder
from coevo.errors import CoevoError, ConfigError, ContentError, ExtraMissingError, Infeasible
from coevo.evaluation.limits import limits_for
from coevo.interfaces import Instance, Solution
from coevo.records.files import write_bytes
from coevo.sandbox.launcher import Launch, Sandbox, SandboxDiedError, find_bwrap
from coevo.sandbox.mounts import Content
from coevo.sandbox.results import GarbledError, decode

_FORMATS = (".svg", ".png")
_PNG_ZOOM = 2


def drawing_format(folder: ProblemFolder, file: Path) -> str:
    """The format a file's name asks for, once it is known that it can be made.

    Raises:
        ConfigError: If the name ends otherwise, or the problem does not draw.
        ExtraMissingError: If PNG is asked for and its library is not installed.
    """
    if not hasattr(folder.load(), "draw"):
        raise ConfigError(f"expected a problem that draws its solutions, got {folder.spec.name}, which does not")
    if file.suffix.lower() not in _FORMATS or file.is_dir():
        raise ConfigError(f"expected --draw to name a file ending in {' or '.join(_FORMATS)}, got {file}")
    if not file.parent.is_dir():
        raise ConfigError(f"expected --draw to name a file in a folder that is there, got {file}")
    if file.suffix.lower() == ".png":
        _png_renderer()
    return file.suffix.lower()


def draw_solution(folder: ProblemFolder, code: str, instance: Instance, file: Path, *, unsafe: bool = False) -> None:
    """Solve one instance with a candidate and write the picture.

    Raises:
        ContentError: If the candidate finds no feasible solution, or the problem fails to draw it.
        SandboxError: If the sandbox cannot start.
    """
    problem: Any = folder.load()
    solution = _solve(folder, code, instance, unsafe=unsafe)
    try:
        text = problem.draw(instance, solution)
    except Infeasible as error:
        raise ContentError(f"nothing to draw: the solution of {instance.name} is infeasible: {error}") from error
    except CoevoError:
        raise
    except Exception as error:
        raise ContentError(f"{folder.path / 'problem.py'}: draw fails: {type(error).__name__}: {error}") from error
    if drawing_format(folder, file) == ".svg":
        write_bytes(file, text.encode())
    else:
        write_bytes(file, bytes(_png_renderer().svg_to_bytes(svg_string=text, zoom=_PNG_ZOOM, background="white")))


def _solve(folder: ProblemFolder, code: str, instance: Instance, *, unsafe: bool) -> Solution:
    launch = Launch(
        Content(folder.path),
        module=vars(folder.load())["__name__"],
        function=folder.spec.heuristic.function,
        uses_numba="numba" in sys.modules,
        warm_up=next(iter(folder.baselines().values())),
        bwrap=None if unsafe else find_bwrap(),
    )
    search = folder.load().instances("search")
    sandbox = Sandbox(launch)
    try:
        sandbox.load([instance], limits_for(folder.spec.limits, search=search, instances=[instance]))
        claim = decode(sandbox.run(code).output, max_solutions=1)
    except (SandboxDiedError, GarbledError) as error:
        raise ContentError(f"nothing to draw: {error}") from error
    finally:
        sandbox.stop()
    if not claim.solutions:
        reason = claim.failure.message if claim.failure else "the heuristic did not finish"
        raise ContentError(f"nothing to draw: no solution of {instance.name}: {reason}")
    return claim.solutions[0]


def _png_renderer() -> Any:
    try:
        import resvg_py
    except ImportError:
        raise ExtraMissingError("resvg-py", "png", "drawing a PNG (SVG needs nothing)") from None
    return resvg_py

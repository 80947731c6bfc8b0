"""Find and load content: problem folders, operator files.

Content lives in three kinds of root, searched in this order: the bundled one (inside the wheel, or the checkout of an
editable install), roots that third-party packages declare under the entry point group `coevo.content`, and any path
the user names. All three go through the same functions. A root holds `problems/` and `operators/`.
"""

import hashlib
import importlib.util
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from coevo.errors import ContentError
from coevo.explaining import explain
from coevo.interfaces import Problem
from coevo.kernel_cache import compile_into, kernel_folder

ENTRY_POINT_GROUP = "coevo.content"

BUNDLED = "bundled"
"""Origin of what ships with coevo."""

PROBLEM_FUNCTIONS = ("instances", "solve", "objective")
"""What every `problem.py` defines; the rest of the contract is optional (`coevo.interfaces.Problem`)."""

Kind = Literal[
    "node", "destination", "nodes", "matrix", "points", "number", "weights", "values", "tuple", "length", "integer",
    "demands", "item", "bins", "index", "square", "vector",
]  # fmt: skip
"""What an argument or result means, so that a model can write for names it has never seen.

Arguments: `node` a node id, `destination` the node a tour ends in, `nodes` the ids still to choose from (1-D integers),
`matrix` (n, n) distances, `points` (n, 2) coordinates, `number` a capacity or limit, `weights` and `values` (m,) of
items, `tuple` a short tuple of small integers, `length` its length, `integer` another whole number, `demands` (n,),
`item` the size of an item, `bins` (k,) remaining capacities. Results: `node`, `index` into the items, `number`,
`square` an (n, n) matrix, `vector` one value per bin.
"""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Argument(_Frozen):
    """One input of a heuristic, or its result."""

    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    kind: Kind
    type: str
    description: str


class Signature(_Frozen):
    """The Python function a candidate has to define."""

    function: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    arguments: tuple[Argument, ...] = Field(min_length=1)
    returns: Argument

    @property
    def definition(self) -> str:
        """The `def` line."""
        return f"def {self.function}({', '.join(a.name for a in self.arguments)}):"


class Limits(_Frozen):
    """What one candidate may use on one evaluation of the search split; other splits scale the time by size.

    Attributes:
        cpu_s: CPU seconds.
        memory_mb: Address space beyond that of an idle process.
        at_once: Most instances that one process solves; fewer than the usual where solutions are large.
        result_mb: Most that one process may return, all its solutions together.
    """

    cpu_s: float = Field(gt=0)
    memory_mb: int = Field(default=1024, gt=0)
    at_once: int | None = Field(default=None, gt=0)
    result_mb: int = Field(default=64, gt=0, le=1024)


class Option(_Frozen):
    """Something that an instance file may leave unsaid, given as `--option name=value` and passed on to `read`."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    type: Literal["number", "integer", "text"]
    description: str


class Solver(_Frozen):
    """A reference solver that a problem offers for gaps, by the name under which `solvers` returns it."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    extra: str
    """The optional dependencies of coevo that bring it: `pip install 'coevo[EXTRA]'`."""
    licence: str
    gives: str
    """What its answer is worth, such as "a proven optimum"."""


class ProblemSpec(_Frozen):
    """`problem.toml`: what is known of a problem without importing any of its code.

    Attributes:
        is_random: Whether the objective draws from the instance's seed. Finalists are then scored again on fresh seeds.
        reads: The kinds of instance file that `read` understands; empty without `read`.
        options: What `read` may be told besides the file.
        solvers: Reference solvers that `solvers` offers.
    """

    schema_version: Literal[1]
    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str
    sense: Literal["min", "max"]
    heuristic: Signature
    splits: dict[str, str]
    limits: Limits
    source: str
    licence: str
    is_random: bool = False
    reads: str = ""
    options: tuple[Option, ...] = ()
    solvers: tuple[Solver, ...] = ()

    @field_validator("splits")
    @classmethod
    def _needs_search(cls, splits: dict[str, str]) -> dict[str, str]:
        if "search" not in splits:
            raise ValueError("needs the split 'search'")
        if marked := [name for name in splits if "#" in name]:
            raise ValueError(f"the name {marked[0]!r} holds a '#', which marks fresh seeds")
        return splits

    @property
    def choosing_split(self) -> str:
        """The split that chooses the best candidate: `val`, or `search` for a problem with no instances to spare."""
        return "val" if "val" in self.splits else "search"


@dataclass(frozen=True)
class ProblemFolder:
    """A problem as found on disk. `description` is what the model is told."""

    path: Path
    spec: ProblemSpec
    description: str

    def load(self) -> Problem:
        """Import the folder's `problem.py`; trusted code, so never a candidate.

        What its kernels compile to goes to `kernel_cache`. Beside the code it would be found again after the folder has
        moved, and then fails: a kernel remembers its module's name.

        Raises:
            ContentError: If it fails on import, or lacks a function that every problem has.
        """
        if (compiled := self.kernel_cache()) is not None:
            compile_into(compiled)
        module = load_module(self.path / "problem.py", package=True)
        missing = [name for name in PROBLEM_FUNCTIONS if not callable(getattr(module, name, None))]
        if missing:
            raise ContentError(
                f"expected {self.path / 'problem.py'} to define {', '.join(PROBLEM_FUNCTIONS)}; "
                f"missing: {', '.join(missing)}"
            )
        return cast(Problem, module)

    def kernel_cache(self) -> Path | None:
        """The folder for its compiled kernels, which may call each other and those of `coevo.problemkit`; or None."""
        shared = Path(__file__).resolve().parent / "problemkit"
        return kernel_folder(self.path.name, [*self.path.glob("*.py"), *shared.glob("*.py")])

    def baselines(self) -> dict[str, str]:
        """Source of every heuristic file in `baselines/`, by name."""
        return {file.stem: read_text(file) for file in sorted((self.path / "baselines").glob("*.py"))}

    def sign(self) -> float:
        """+1 if the objective is minimised, −1 if maximised: cost = sign · objective. The one place of conversion."""
        return 1.0 if self.spec.sense == "min" else -1.0


def load_module(file: Path, *, package: bool = False) -> ModuleType:
    """Import a Python file by path under a name of its own, once per process.

    Args:
        file: The file to import.
        package: Whether the file may import its neighbours relatively.

    Raises:
        ContentError: If the file is missing or raises while it is imported.
    """
    file = file.resolve()
    name = f"coevo_content_{file.parent.name.replace('-', '_')}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    locations = [str(file.parent)] if package else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=locations)
    if spec is None or spec.loader is None or not file.is_file():
        raise ContentError(f"expected a Python file at {file}, found none")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        # Whatever stopped it, half a module must not be found by the next call.
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise ContentError(f"{file} fails on import: {type(error).__name__}: {error}") from error
    return module


def read_text(file: Path) -> str:
    """The text of a content file.

    Raises:
        ContentError: If the file cannot be read, or is not UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ContentError(f"expected a text file at {file}, got: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ContentError(f"expected UTF-8 text in {file}, got {error.reason} at byte {error.start}") from error


def bundled_root() -> Path:
    """The root that ships with coevo: inside the wheel, or the checkout of an editable install.

    Raises:
        ContentError: If neither place holds both `problems/` and `operators/`.
    """
    package = Path(__file__).resolve().parent
    candidates = (package / "_bundled", package.parent)
    for root in candidates:
        if (root / "problems").is_dir() and (root / "operators").is_dir():
            return root
    raise ContentError(f"expected problems/ and operators/ in one of {[str(c) for c in candidates]}; reinstall coevo")


def content_roots() -> tuple[Path, ...]:
    """Every content root in search order: the bundled one first, then those of installed packages."""
    return tuple(declared_roots())


@cache
def declared_roots() -> dict[Path, str]:
    """Every content root in search order, with the package that declares it, or `BUNDLED`."""
    found = {bundled_root(): BUNDLED}
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda p: p.name):
        found.setdefault(_declared_root(point), point.dist.name if point.dist else point.name)
    return found


def _declared_root(point: EntryPoint) -> Path:
    try:
        return Path(point.load()()).resolve()
    except Exception as error:
        raise ContentError(
            f"expected the entry point {point.name} = {point.value} ({ENTRY_POINT_GROUP}) to return a folder, "
            f"got {type(error).__name__}: {error}; repair or uninstall the package that declares it"
        ) from error


def problem_paths() -> Iterator[Path]:
    """The folder of every problem that can be named, in search order."""
    for root in content_roots():
        for file in sorted((root / "problems").glob("*/problem.toml")):
            yield file.parent


def find_problem(name_or_path: str) -> ProblemFolder:
    """Load a problem's metadata by name, or by the path of a folder that holds a `problem.toml`.

    Raises:
        ContentError: If there is none, with the names that exist; or if its metadata does not parse.
    """
    as_path = Path(name_or_path)
    if (as_path / "problem.toml").is_file():
        return read_problem(as_path.resolve())
    known: dict[str, Path] = {}
    for path in problem_paths():
        known.setdefault(path.name, path)
    if name_or_path in known:
        return _named_as_its_folder(read_problem(known[name_or_path]))
    raise ContentError(
        f"expected the name of a problem or a folder with a problem.toml, got {name_or_path!r}; "
        f"known: {', '.join(known) or 'none'}; looked in {', '.join(str(r) for r in content_roots())}"
    )


def _named_as_its_folder(folder: ProblemFolder) -> ProblemFolder:
    if folder.spec.name != folder.path.name:
        raise ContentError(
            f"expected name = {folder.path.name!r} in {folder.path / 'problem.toml'}, as its folder is called, "
            f"got {folder.spec.name!r}; rename one of them"
        )
    return folder


def read_problem(path: Path) -> ProblemFolder:
    """Read and check the metadata of a problem folder without importing its code.

    Raises:
        ContentError: Naming the file and what is wrong with it.
    """
    for needed in ("problem.toml", "problem.py", "description.md"):
        if not (path / needed).is_file():
            raise ContentError(f"expected {needed} in the problem folder {path}, found none")
    file = path / "problem.toml"
    try:
        spec = ProblemSpec.model_validate(tomllib.loads(read_text(file)))
    except tomllib.TOMLDecodeError as error:
        raise ContentError(f"{file} is not valid TOML: {error}") from error
    except RecursionError:
        raise ContentError(f"{file} is nested too deeply") from None
    except ValidationError as error:
        raise ContentError(f"{file}: {explain(error, ProblemSpec)}") from error
    if not any((path / "baselines").glob("*.py")):
        raise ContentError(f"expected at least one heuristic file in {path / 'baselines'}, found none")
    return ProblemFolder(path, spec, read_text(path / "description.md").strip())

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import coevo

PACKAGE = Path(coevo.__file__).parent

LAYERS = [
    {"__main__"},
    {"cli"},
    {"api"},
    {"authoring", "reporting"},
    {"experiments"},
    {"searching", "tuning"},
    {"learning"},
    {"evolution", "evaluation", "es", "engines", "environments", "records", "skills"},
    {"noise", "sandbox", "cluster", "problemkit", "codec", "board_codec"},
    {"prompt_files"},
    {"content"},
    {"kernel_cache"},
    {
        "answer_bounds",
        "interfaces",
        "candidate",
        "block",
        "idioms",
        "sudoku_boards",
        "child_environ",
        "explaining",
        "errors",
    },
]
MODULES = sorted(PACKAGE.rglob("*.py"))


def part_of(module: str) -> str:
    """Name of the part a dotted module name belongs to."""
    return module.split(".")[1] if "." in module else ""


def layer_of(part: str) -> int:
    """Depth of a part in the map, 0 at the top."""
    return next(depth for depth, parts in enumerate(LAYERS) if part in parts)


def imported(file: Path) -> set[str]:
    """Every coevo module a file imports, inside functions too; type-checking imports as well."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names if node.module == "coevo"}
    return {name for name in names if name.startswith("coevo.")}


@pytest.mark.parametrize("file", MODULES, ids=lambda f: str(f.relative_to(PACKAGE)))
def test_imports_go_down_the_map(file):
    """A module imports its own part and parts further down; the parts of the middle layer never import each other."""
    inside = file.relative_to(PACKAGE)
    if inside.name == "__init__.py" and len(inside.parts) == 1:
        return
    own = inside.parts[0].removesuffix(".py")
    for name in imported(file):
        part = part_of(name)
        if part in ("__version__", own) or not part:
            continue
        allowed = layer_of(part) > layer_of(own)
        assert allowed, f"{inside} imports {name}: {own} lies at or below {part} in the map"


def test_every_module_has_a_place_in_the_map():
    """A new part has to be given its layer."""
    parts = {file.relative_to(PACKAGE).parts[0].removesuffix(".py") for file in MODULES} - {"__init__"}
    assert parts == set().union(*LAYERS)


@pytest.mark.parametrize("command", ["import coevo", "from coevo.cli import app", "import coevo.searching.config"])
def test_heavy_libraries_load_only_where_they_are_used(command):
    """Neither the package nor the command line nor the configuration loads torch, transformers or Numba."""
    heavy = ("torch", "transformers", "numba", "ray", "vllm")
    check = f"{command}; import sys; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", check], text=True).strip() == "[]"

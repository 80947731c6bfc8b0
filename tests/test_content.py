"""The content loader: by name, by path, from installed packages; and every way in which content can be malformed."""

import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from coevo import content
from coevo.errors import ContentError

TOML = """
schema_version = 1
name = "toy"
title = "A toy"
sense = "{sense}"
splits = {{ search = "seen", val = "chosen by" }}
limits = {{ cpu_s = 1.0 }}
source = "made up"
licence = "MIT"

[heuristic]
function = "choose"
arguments = [
  {{ name = "left", kind = "nodes", type = "array", description = "what is left" }},
  {{ name = "limit", kind = "number", type = "float", description = "how much fits" }},
]
returns = {{ name = "next", kind = "node", type = "int", description = "what to take" }}
"""

MODULE = """
from .neighbour import VALUE
def instances(split): return [VALUE]
def solve(heuristic, instance): return heuristic(instance)
def objective(instance, solution): return float(solution)
"""


@pytest.fixture
def make_folder(tmp_path):
    """A function that writes a valid problem folder under a root and returns its path."""

    def make(root=tmp_path, *, name="toy", sense="min"):
        path = root / "problems" / name
        (path / "baselines").mkdir(parents=True)
        (path / "problem.toml").write_text(TOML.format(sense=sense))
        (path / "problem.py").write_text(MODULE)
        (path / "neighbour.py").write_text("VALUE = 17\n")
        (path / "description.md").write_text("\nChoose well – always.\n\n", encoding="utf-8")
        (path / "baselines" / "first.py").write_text("def choose(left, limit):\n    return left[0]\n")
        return path

    return make


@pytest.fixture
def declare(monkeypatch):
    """A function that makes the given entry points the only installed ones, for this test."""

    def set_points(*values):
        points = [EntryPoint(f"p{i}", value, content.ENTRY_POINT_GROUP) for i, value in enumerate(values)]
        monkeypatch.setattr(content, "entry_points", lambda group: [p for p in points if p.group == group])
        content.declared_roots.cache_clear()

    yield set_points
    content.declared_roots.cache_clear()


def test_bundled_root_holds_both_kinds_of_content():
    """The first root of the search, with problems and operators."""
    root = content.bundled_root()
    assert (root / "problems" / "tsp" / "problem.toml").is_file()
    assert (root / "operators").is_dir()
    assert content.content_roots()[0] == root


def test_missing_bundled_root_says_where_it_looked(monkeypatch, tmp_path):
    """An installation without content is named as such."""
    monkeypatch.setattr(content, "__file__", str(tmp_path / "coevo" / "content.py"))
    with pytest.raises(ContentError, match=r"expected problems/ and operators/ in one of .*_bundled.*reinstall coevo"):
        content.bundled_root()


def test_problem_is_found_by_name():
    """A bundled problem needs no path."""
    folder = content.find_problem("tsp")
    assert folder.spec.name == "tsp"
    assert folder.spec.heuristic.definition == (
        "def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):"
    )


@pytest.mark.parametrize(("sense", "sign"), [("min", 1.0), ("max", -1.0)])
def test_problem_is_found_by_path(make_folder, sense, sign):
    """Any folder with a problem.toml; its parts are read without importing its code."""
    before = set(sys.modules)
    folder = content.find_problem(str(make_folder(sense=sense)))
    assert folder.description == "Choose well – always."
    assert folder.baselines() == {"first": "def choose(left, limit):\n    return left[0]\n"}
    assert folder.spec.limits.memory_mb == 1024
    assert folder.sign() == sign
    assert not any(module.startswith("coevo_content") for module in set(sys.modules) - before)


def test_load_imports_once_with_neighbours(make_folder):
    """`problem.py` may import the files beside it relatively, and is one module per process."""
    folder = content.find_problem(str(make_folder()))
    problem = folder.load()
    assert problem.instances("search") == [17]
    assert folder.load() is problem


def test_two_folders_of_one_name_are_two_modules(make_folder, tmp_path):
    """Modules are told apart by path, not by name."""
    first, second = (content.read_problem(make_folder(tmp_path / root)) for root in ("a", "b"))
    assert first.load() is not second.load()


def test_installed_packages_add_roots(make_folder, declare, monkeypatch, tmp_path):
    """An entry point names a function that returns a root; its problems are found by name, after the bundled ones."""
    make_folder(tmp_path / "root")
    (tmp_path / "third_party_roots.py").write_text(
        "from pathlib import Path\ndef root():\n    return Path(__file__).parent / 'root'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    declare("third_party_roots:root", "coevo.content:bundled_root")
    assert content.content_roots() == (content.bundled_root(), (tmp_path / "root").resolve())
    assert content.find_problem("toy").path == (tmp_path / "root" / "problems" / "toy").resolve()


def test_bundled_problem_wins_over_an_installed_one_of_its_name(make_folder, declare, monkeypatch, tmp_path):
    """A package cannot replace what coevo ships without being named by path."""
    make_folder(tmp_path / "root", name="tsp")
    (tmp_path / "shadowing_roots.py").write_text(f"def root():\n    return {str(tmp_path / 'root')!r}\n")
    monkeypatch.syspath_prepend(tmp_path)
    declare("shadowing_roots:root")
    assert content.find_problem("tsp").path == content.bundled_root() / "problems" / "tsp"


@pytest.mark.parametrize("value", ["no_such_module_anywhere:root", "coevo.content:no_such_function", "math:pi"])
def test_broken_entry_point_is_named(declare, value):
    """A package whose entry point fails is reported with what declares it."""
    declare(value)
    with pytest.raises(
        ContentError, match=rf"expected the entry point p0 = {value} \(coevo.content\) to return a folder"
    ):
        content.content_roots()


def test_unknown_name_lists_the_known_ones(declare):
    """The message says what was asked, what exists and where it looked."""
    declare()
    with pytest.raises(ContentError) as caught:
        content.find_problem("tps")
    message = str(caught.value)
    assert "got 'tps'" in message
    assert "tsp" in message.partition("known: ")[2]
    assert str(content.bundled_root()) in message


@pytest.mark.parametrize("needed", ["problem.py", "description.md", "problem.toml"])
def test_missing_file_is_named(make_folder, needed):
    """A folder without one of its files says which."""
    path = make_folder()
    (path / needed).unlink()
    with pytest.raises(ContentError, match=f"expected {needed} in the problem folder {path}, found none"):
        content.read_problem(path)


def test_missing_baselines_are_named(make_folder):
    """A problem needs at least one heuristic to start from."""
    path = make_folder()
    (path / "baselines" / "first.py").unlink()
    with pytest.raises(ContentError, match=f"expected at least one heuristic file in {path / 'baselines'}"):
        content.read_problem(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "toy"', 'name = "toy', r"problem\.toml is not valid TOML: "),
        (
            'title = "A toy"',
            'titel = "A toy"',
            r"problem\.toml: .*title: expected a value, found none.*titel: there is no such field, was title meant",
        ),
        ('sense = "min"', 'sense = "least"', r"sense: expected 'min' or 'max' \(got 'least'\)"),
        ('kind = "nodes"', 'kind = "node ids"', r"heuristic\.arguments\.0\.kind: .*\(got 'node ids'\)"),
        ('search = "seen"', 'train = "seen"', r"splits: .*needs the split 'search'"),
        ('val = "chosen by"', '"val#1" = "chosen by"', r"splits: .*the name 'val#1' holds a '#'"),
        ("cpu_s = 1.0", "cpu_s = 0.0", r"limits\.cpu_s: expected more than 0"),
        ('function = "choose"', 'function = "no identifier"', r"heuristic\.function: expected text of the form"),
        ('name = "toy"', 'name = "Toy Problem"', r"name: expected text of the form"),
        ("schema_version = 1", "schema_version = 2", r"schema_version: expected 1 \(got 2\)"),
    ],
)
def test_malformed_metadata_names_file_field_and_value(make_folder, old, new, message):
    """Each mistake is one line that names the file, the field and what came."""
    path = make_folder()
    text = (path / "problem.toml").read_text()
    assert old in text
    (path / "problem.toml").write_text(text.replace(old, new))
    with pytest.raises(ContentError, match=message) as caught:
        content.read_problem(path)
    assert str(path / "problem.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["problem.toml", "description.md", "baselines/first.py"])
def test_text_that_is_not_utf_8_is_named(make_folder, name):
    """A file in another encoding is malformed content, not a crash."""
    path = make_folder()
    (path / name).write_bytes(b"# caf\xe9\n")
    with pytest.raises(ContentError, match=f"expected UTF-8 text in {path / name}"):
        content.read_problem(path).baselines()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import no_such_module_anywhere", "ModuleNotFoundError: No module named 'no_such_module_anywhere'"),
        ("def broken(:", "SyntaxError: "),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_problem_that_fails_on_import_is_wrapped_and_not_kept(make_folder, source, message):
    """The error names the file and the cause, and a repaired file loads afterwards."""
    path = make_folder()
    folder = content.read_problem(path)
    (path / "problem.py").write_text(source)
    for _ in range(2):
        with pytest.raises(ContentError, match=f"{path / 'problem.py'} fails on import: {message}"):
            folder.load()
    (path / "problem.py").write_text(MODULE)
    assert folder.load().instances("search") == [17]


def test_interrupt_during_import_is_not_swallowed(make_folder):
    """Ctrl-C stays Ctrl-C, and leaves no half module behind."""
    path = make_folder()
    folder = content.read_problem(path)
    (path / "problem.py").write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        folder.load()
    (path / "problem.py").write_text(MODULE)
    assert folder.load().instances("search") == [17]


def test_problem_without_a_required_function_is_refused(make_folder):
    """The message lists what is expected and what is missing."""
    path = make_folder()
    (path / "problem.py").write_text("def instances(split): return []\nobjective = 3\n")
    with pytest.raises(ContentError, match=r"to define instances, solve, objective; missing: solve, objective$"):
        content.read_problem(path).load()


def test_missing_module_is_named(tmp_path):
    """A path that holds no file."""
    with pytest.raises(ContentError, match=f"expected a Python file at {tmp_path / 'nothing.py'}, found none"):
        content.load_module(tmp_path / "nothing.py")


KERNEL = """
from numba import njit
@njit(cache=True)
def twice(value):
    return 2 * value
def instances(split): return [twice(4)]
def solve(heuristic, instance): return heuristic(instance)
def objective(instance, solution): return float(solution)
"""


def test_compiled_code_survives_a_move_of_its_folder(make_folder, tmp_path):
    """A folder that is moved with all that lies in it still runs: kernels are not cached beside the code."""
    path = make_folder(tmp_path / "before")
    (path / "problem.py").write_text(KERNEL)
    moved = tmp_path / "after" / "toy"
    moved.parent.mkdir()
    load = "find_problem(sys.argv[1]).load().instances('search')"
    program = f"import sys\nfrom coevo.content import find_problem\nprint({load})"
    environment = {"PATH": "", "PYTHONPATH": ":".join(sys.path), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run(folder):
        command = [sys.executable, "-c", program, str(folder)]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    assert run(path).stdout == "[8]\n"
    shutil.move(path, moved)
    after = run(moved)
    assert after.stdout == "[8]\n", after.stderr


def test_metadata_nested_too_deeply_is_named(make_folder):
    """A file that overruns the parser is malformed, not a crash."""
    path = make_folder()
    with (path / "problem.toml").open("a") as file:
        file.write("x = " + 5000 * "[" + 5000 * "]")
    with pytest.raises(ContentError, match=r"problem\.toml is nested too deeply"):
        content.read_problem(path)


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_baseline_that_is_no_file_is_named(make_folder, is_folder):
    """A folder or a dangling link in the place of a heuristic is malformed content."""
    path = make_folder()
    odd = path / "baselines" / "odd.py"
    odd.mkdir() if is_folder else odd.symlink_to("nowhere.py")
    with pytest.raises(ContentError, match=f"expected a text file at {odd}"):
        content.read_problem(path).baselines()

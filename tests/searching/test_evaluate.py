"""One heuristic, measured on a split or on files: what is reported, drawn and refused."""

import shutil
import sys
from pathlib import Path

import pytest

from coevo.errors import ConfigError, ContentError, ExtraMissingError
from coevo.searching.evaluate import evaluate_file

EXTRAS = """

def read(path, *, scale=1.0):
    from coevo.errors import InstanceFileError

    jobs = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("known"):
            continue
        try:
            values = np.array(line.split(), dtype=float)
        except ValueError:
            raise InstanceFileError(path, number, f"expected numbers, got {line!r}") from None
        jobs.append(Instance(f"{path.stem}-{number}", number, {"durations": values * scale, "worths": values}))
    return jobs


def read_reference(path, *, scale=1.0):
    return [float(line.split()[1]) for line in path.read_text().splitlines() if line.startswith("known")] or None


def best_order(instance):
    return np.argsort(instance.data["durations"] / instance.data["worths"], kind="stable")


def solvers():
    return {"smith": best_order, "absent": absent}


def absent(instance):
    from coevo.errors import ExtraMissingError

    raise ExtraMissingError("nothing", "solvers", "solving")


def draw(instance, solution):
    objective(instance, solution)
    return '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><title>' + instance.name + "</title></svg>"
"""
OPTION = """
[[options]]
name = "scale"
type = "number"
description = "what durations are multiplied by"
"""
ROW = "1 2 3 4 5 6 7 8 9 10 11 12\n"


@pytest.fixture(scope="module")
def jobs(tiny_problem, tmp_path_factory):
    """The tiny problem with everything that is optional."""
    folder = tmp_path_factory.mktemp("jobs") / "tiny"
    shutil.copytree(tiny_problem, folder)
    with (folder / "problem.py").open("a") as file:
        file.write(EXTRAS)
    with (folder / "problem.toml").open("a") as file:
        file.write(OPTION)
    return folder


@pytest.fixture
def measure(jobs, tmp_path):
    """Evaluates the baseline, or another source, on the problem with everything."""

    def run(code=None, split=None, **settings):
        file = jobs / "baselines" / "shortest_first.py"
        if code is not None:
            file = tmp_path / "mine.py"
            file.write_text(code)
        return evaluate_file(file, str(jobs), split, workers=1, **settings)

    return run


def write(path, text):
    """The path, with that text in it."""
    path.write_text(text)
    return path


def test_a_split_is_reported_instance_by_instance(measure):
    """Mean and rows agree, a solver's solutions are the reference, and nobody beats an optimal rule."""
    report = measure(split="val", solver="smith")
    rows = report["instances"]
    assert (report["problem"], report["split"], report["sense"], report["status"]) == ("tiny", "val", "min", "ok")
    assert [row["name"] for row in rows] == [f"val-{number}" for number in range(4)]
    assert report["objective"] == pytest.approx(sum(row["objective"] for row in rows) / 4)
    assert all(row["gap"] == pytest.approx(row["objective"] / row["reference"] - 1) for row in rows)
    assert all(row["gap"] >= 0 for row in rows)
    assert report["gap"] > 0
    assert report["cpu_s"] > 0


def test_files_are_groups_of_their_own(measure, tmp_path):
    """Each file's instances come in order with what it knows; an option reaches the reader as a number."""
    first = write(tmp_path / "a.txt", ROW + ROW + "known 100\nknown 364\n")
    second = write(tmp_path / "b.txt", ROW)
    report = measure(files=(first, second), options={"scale": "2"})
    rows = report["instances"]
    assert report["split"] is None
    assert [row["name"] for row in rows] == ["a-1", "a-2", "b-1"]
    assert [row["reference"] for row in rows] == [100.0, 364.0, None]
    halves = measure(files=(first,))["instances"]
    assert rows[0]["objective"] == 2 * halves[0]["objective"]
    assert report["gap"] is None
    assert measure(files=(first,))["gap"] == pytest.approx(halves[0]["objective"] / 232 - 1)


def test_a_failure_on_one_file_leaves_the_others(measure, tmp_path):
    """The whole has failed, with the reason; what could be measured is there."""
    code = "def priority(durations, worths):\n    return [1 / int(x - 12) for x in durations]\n"
    files = write(tmp_path / "a.txt", "1 2 3 4 5 6 7 8 9 10 11 13\n"), write(tmp_path / "b.txt", ROW)
    report = measure(code, files=files)
    assert (report["status"], report["objective"], report["gap"]) == ("crash", None, None)
    assert "ZeroDivisionError" in report["detail"]
    assert [row["status"] for row in report["instances"]] == ["ok", "crash"]
    assert report["instances"][0]["objective"] > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"split": "tset"}, "expected a split among search, val, test of tiny, got 'tset'"),
        ({"split": "val", "files": (Path(),)}, "expected --split or --instances, got both"),
        ({"options": {"scale": "1"}}, "--option goes with --instances; got scale"),
        ({"files": (Path("no-such-file"),)}, "expected an instance file at no-such-file, found nothing"),
        ({"files": (Path(),)}, "expected an instance file at ., found a folder"),
        (
            {"files": (Path(__file__),), "options": {"size": "1"}},
            r"an option of the problem tiny \(scale\), got 'size'",
        ),
        ({"files": (Path(__file__),), "options": {"scale": "x"}}, "a finite number for --option scale, got 'x'"),
        ({"files": (Path(__file__),), "options": {"scale": "inf"}}, "a finite number for --option scale, got 'inf'"),
        ({"files": (Path(__file__),), "options": {"scale": "1" * 400}}, "a finite number for --option scale, got '111"),
        ({"files": (Path(__file__),)}, "test_evaluate.py, line 1: expected numbers, got"),
        ({"solver": "lkh"}, r"a reference solver of tiny \(smith, absent\), got 'lkh'"),
        ({"solver": "absent"}, r"pip install 'coevo\[solvers\]'"),
        ({"seeds": 3}, "expected --seeds for a problem with a random objective, got 3 for tiny"),
        ({"seeds": -1}, "expected a number of fresh seeds from 0 up, got --seeds -1"),
        ({"instance": "val-1"}, "--instance says what to --draw"),
        ({"draw": Path("a.jpg")}, "expected --draw to name a file ending in .svg or .png, got a.jpg"),
        ({"draw": Path("a.svg"), "instance": "val-9"}, "an instance to draw, such as 'search-0', got 'val-9'"),
    ],
)
def test_what_does_not_fit_is_refused(measure, monkeypatch, tmp_path, settings, message):
    """Each mistake is one line that says what was expected and what came."""
    settings = {key: tuple(map(Path.absolute, value)) if key == "files" and value[0].is_file() else value
                for key, value in settings.items()}  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ConfigError, ContentError), match=message) as caught:
        measure(**settings)
    assert "\n" not in str(caught.value)


def test_a_file_without_instances_is_refused(measure, tmp_path):
    """An empty file is no reason for a mean over nothing."""
    with pytest.raises(ContentError, match=r"expected at least one instance in .*empty.txt, found none"):
        measure(files=(write(tmp_path / "empty.txt", ""),))


@pytest.mark.parametrize(("name", "start"), [("picture.svg", b"<svg"), ("picture.PNG", b"\x89PNG\r\n\x1a\n")])
def test_a_solution_is_drawn(measure, tmp_path, name, start):
    """The problem's SVG as it is, or a PNG of it."""
    measure(split="val", draw=tmp_path / name, instance="val-2")
    content = (tmp_path / name).read_bytes()
    assert content.startswith(start)
    assert name.endswith("PNG") or b"val-2" in content


def test_what_has_no_solution_is_not_drawn(measure, tmp_path):
    """A heuristic that fails leaves no picture; its report says why, as without one."""
    code = "def priority(durations, worths):\n    return 1 / 0\n"
    report = measure(code, draw=str(tmp_path / "picture.svg"))
    assert (report["status"], report["detail"][:17]) == ("crash", "ZeroDivisionError")
    assert not (tmp_path / "picture.svg").exists()


def test_a_missing_png_library_is_named_before_anything_runs(measure, monkeypatch, tmp_path):
    """The message says what to install."""
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ExtraMissingError, match=r"resvg-py .*pip install 'coevo\[png\]'"):
        measure(draw=tmp_path / "picture.png")


def test_a_file_cannot_write_to_the_terminal_or_break_a_drawing(measure, tmp_path):
    """Names with control characters, or none that UTF-8 has, are escaped before they are shown or drawn."""
    file = write(tmp_path / "a\x1b[31m\x07\udcff\ufffe.txt", ROW)
    report = measure(files=(file,), draw=tmp_path / "picture.svg")
    assert report["instances"][0]["name"] == r"a\x1b[31m\x07\udcff\ufffe-1"
    assert r"\x1b[31m" in (tmp_path / "picture.svg").read_text()


def test_a_drawing_has_to_have_a_place(measure, tmp_path):
    """A folder, or a file in a folder that is not there, is refused before anything runs; nothing is left behind."""
    (tmp_path / "folder.svg").mkdir()
    for place in (tmp_path / "folder.svg", tmp_path / "nowhere" / "picture.svg"):
        with pytest.raises(ConfigError, match="expected --draw to name a file"):
            measure(draw=place)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.svg"]

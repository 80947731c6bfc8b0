"""Law: a command that is given the run of another kind says so in one line, for every command and kind."""

import json

import pytest

from coevo.errors import CoevoError
from coevo.records.run_directory import RunDirectory
from coevo.records.run_kind import EVAL_AGENT, GRID, GRID_FILES, LANDSCAPE, PROBE, SEARCH, TUNE

NAMES = {
    SEARCH: "a search",
    TUNE: "a tuning run",
    EVAL_AGENT: "an evaluation of agents",
    LANDSCAPE: "a landscape",
    PROBE: "a probe",
    GRID: "a grid",
}

MOVING = {SEARCH, PROBE, TUNE}

COMMANDS = {
    "compare": (("compare", "{run}", "{run}"), {SEARCH}),
    "page of a comparison": (("compare", "{run}", "{run}", "--page", "{out}.html"), {SEARCH}),
    "eval-agent": (("eval-agent", "--run", "{run}"), {TUNE}),
    "landscape": (("landscape", "--run", "{run}"), {TUNE}),
    "replay": (("replay", "{run}"), MOVING),
    "replay to the best": (("replay", "{run}", "--generation", "best"), MOVING),
    "export": (("export", "{run}", "--to", "{out}"), MOVING),
    "resume": (("resume", "{run}"), {*NAMES} - {GRID}),
}
"""Arguments of each command, and the kinds that it is for."""

OTHERS = [(name, kind) for name, (_, wanted) in COMMANDS.items() for kind in NAMES if kind not in wanted]


@pytest.fixture
def folder_of(tmp_path):
    """Makes a folder of a kind as far as its kind can be told, with a result of fields that no other kind has."""

    def make(kind):
        if kind == GRID:
            folder = tmp_path / "grid"
            folder.mkdir()
            for name in GRID_FILES:
                (folder / name).write_text("")
            return folder
        run = RunDirectory.create(tmp_path, "run", {"kind": kind} if kind else {"budget": 10})
        run.events.write_text(json.dumps({"kind": "started", "clock": {"time": 0.0}}) + "\n")
        run.save_result({"status": "done", **{f"field_{number}": number for number in range(15)}})
        return run.path

    return make


@pytest.mark.parametrize(("name", "kind"), OTHERS)
def test_a_run_of_another_kind_is_one_line(coevo, folder_of, tmp_path, name, kind):
    """It says what was expected, what the folder is and what can be done with that; nothing is written."""
    run, out = folder_of(kind), tmp_path / "out"
    arguments, wanted = COMMANDS[name]
    with pytest.raises(CoevoError) as refusal:
        coevo(*(text.format(run=run, out=out) for text in arguments))
    said = str(refusal.value)
    assert said.startswith("expected a"), said
    assert f"got {NAMES[kind]} in {run}; " in said
    assert all(NAMES[each] in said.split(", got ")[0] for each in wanted)
    assert "field_" not in said
    assert said.isprintable()
    assert not [file for file in tmp_path.iterdir() if file.name.startswith("out")]


@pytest.mark.parametrize("kind", NAMES)
def test_a_command_never_takes_its_own_kind_for_another(coevo, folder_of, tmp_path, kind):
    """What these folders lack is told otherwise than by their kind; a report is for every kind but one."""
    run, out = folder_of(kind), tmp_path / "out"
    own = [arguments for arguments, wanted in COMMANDS.values() if kind in wanted]
    for arguments in [*own, ("report", "{run}")]:
        with pytest.raises(CoevoError) as refusal:
            coevo(*(text.format(run=run, out=out) for text in arguments))
        assert f"got {NAMES[kind]} in " not in str(refusal.value), arguments


def test_tuning_runs_are_sent_to_the_command_that_compares_them(coevo, folder_of):
    """What to do next is a command."""
    run = folder_of(TUNE)
    with pytest.raises(CoevoError, match="coevo eval-agent --run RUN --run RUN compares tuning runs"):
        coevo("compare", run, run)


def test_a_kind_of_another_version_is_named(coevo, folder_of):
    """A kind that this version does not know is quoted."""
    run = folder_of("painting")
    with pytest.raises(CoevoError, match=r"got a run of the kind 'painting' in .*; another version wrote it"):
        coevo("replay", run)

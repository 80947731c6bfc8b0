import json

import pytest

from coevo.errors import RunError
from coevo.experiments.probe_config import make_probe_config
from coevo.records.run_directory import RunDirectory
from coevo.reporting.probe_page import probe_page
from coevo.reporting.probe_story import tell_probe
from coevo.reporting.telling import tell_run
from coevo.reporting.writing import write_comparison, write_page

SETS = ("trained", "held_out")


class ProbeMaker:
    """Writes the directory of a probe event by event."""

    def __init__(self, folder, **settings):
        strategy = {"members": 2, "children": 2}
        config = make_probe_config(
            {"steps": 2, "evaluations": 4, "workers": 1, "guard": True, "evolution_strategy": strategy, **settings}
        )
        self.path = RunDirectory.create(folder, "probe", config.model_dump(mode="json")).path
        self.events = []
        self._rounds = 0

    def emit(self, kind, **facts):
        """Append any event."""
        self.events.append({"kind": kind, **facts, "clock": {"time": float(len(self.events))}})
        with (self.path / "events.jsonl").open("a") as file:
            file.write(json.dumps(self.events[-1]) + "\n")

    def round(self, purpose, costs, **facts):
        """A batch with its purpose; a cost of None is an invalid child."""
        place, self._rounds = self._rounds, self._rounds + 1
        self.emit("round", generation=place, purpose=purpose, **facts)
        ids = [f"{place}.m1.{number}" for number in range(len(costs))]
        self.emit("asked", operator="m1", generation=place, requests=[{"id": each} for each in ids])
        for each, cost in zip(ids, costs, strict=True):
            self.emit("child", id=each, operator="m1", generation=place, cost=cost)

    def measure(self, when, step, reward, change=None):
        """A measurement of both sets."""
        for place, name in enumerate(SETS):
            self.round("evaluation", [1.0] * 4, step=step, parents=name)
            self.emit("probe", when=when, step=step, parents=name, completions=4, reward=reward + place,
                      standard_error=0.0625, valid=0.75, improved=0.25, distinct=3, change=change,
                      change_error=None if change is None else 0.125)  # fmt: skip

    def train(self, step, costs, reward, *, refused=False):
        """A step with the guard's decision."""
        self.round("training", costs, step=step)
        valid = sum(cost is not None for cost in costs)
        self.emit("batch", generation=step + 1, operator="m1+m2", children=len(costs), valid=valid, distinct=1,
                  reward=reward)  # fmt: skip
        self.emit("guard", step=step, valid=valid / len(costs), bound=0.375, refused=refused, scale=0.5**refused)
        self.emit("step", step=step, generation=step + 1, operator="m1+m2", sigma=0.01, coefficients=[0.3, -0.4],
                  rewards=[1.0, 0.0], applied=not refused, fingerprint=f"{step + 1:016x}")  # fmt: skip


@pytest.fixture
def make_probe(tmp_path):
    """Makes the directory of a probe without events; keywords are fields of its configuration."""
    return lambda **settings: ProbeMaker(tmp_path / "runs", **settings)


@pytest.fixture
def whole_probe(make_probe):
    """A finished probe of two steps, of which the guard refused one."""
    probe = make_probe()
    probe.emit("started", version="0.1.0", experiment="probe", problem="tsp", fingerprint="0" * 16)
    probe.round("parents", [1.0, 2.0, None])
    probe.emit("parents", trained=["a" * 16], held_out=["b" * 16], scale=0.75)
    probe.measure("before", 0, 0.25)
    probe.train(0, [1.0, 2.0, None, 4.0], 0.125)
    probe.measure("during", 1, 0.375, 0.125)
    probe.train(1, [None, None, None, 4.0], -0.5, refused=True)
    probe.measure("after", 2, 0.5, 0.25)
    probe.measure("fresh", 2, 0.75, 0.5)
    probe.emit("finished", status="done", fingerprint="1" * 16)
    return probe


def test_the_page_has_the_probes_numbers(whole_probe, read_page):
    """Measurements with their standard errors, steps, the guard and σ are those of the raw events."""
    page = read_page(probe_page(tell_probe(whole_probe.path)))
    rows = page.rows("The unperturbed model, measured")
    shown = ("measured", "after steps", "reward", "standard error", "change", "its error", "valid")
    told = [e for e in whole_probe.events if e["kind"] == "probe"]
    names = ("when", "step", "reward", "standard_error", "change", "change_error", "valid")
    expected = [tuple("–" if e[name] is None else e[name] for name in names) for e in told]
    assert [tuple(row[name] for name in shown) for row in rows] == expected
    assert [row["parents"] for row in rows] == ["trained", "held out"] * 4
    assert page.curve("trained") == ([0.0, 1.0, 2.0], [0.25, 0.375, 0.5])
    assert page.curve("held out") == ([0.0, 1.0, 2.0], [1.25, 1.375, 1.5])
    (steps,) = (page.rows(name) for name in page.tables if "Valid share" in name)
    assert [(row["children"], row["valid"], row["share"], row["mean reward"]) for row in steps] == [
        (4.0, 3.0, 0.75, 0.125), (4.0, 1.0, 0.25, -0.5),
    ]  # fmt: skip
    assert [row["refused"] for row in page.rows("The guard's decisions")] == ["held", "refused"]
    assert [row["σ"] for row in page.rows("Steps")] == [0.01, 0.01]


def test_the_headline_is_that_of_the_events(whole_probe, read_page):
    """The paired change with its error, completions by purpose, and steps that did and did not move the weights."""
    story = tell_probe(whole_probe.path)
    asked = [e for e in whole_probe.events if e["kind"] == "asked"]
    assert sum(story.spent.values()) == sum(len(e["requests"]) for e in asked)
    assert dict(story.spent) == {"parents": 3, "evaluation": 32, "training": 8}
    text = " ".join(read_page(probe_page(story)).text.split())
    assert "change on trained parents+0.25 ± 0.12" in text
    assert "steps refused by the guard1of 2" in text
    assert "steps that moved the weights1of 2" in text
    assert "divided by the spread of the parents' costs, 0.75" in text


def test_every_beginning_of_a_probe_has_a_page(whole_probe, make_probe, tmp_path):
    """Wherever a probe was killed, it is told as unfinished; what is there has a page."""
    lines = (whole_probe.path / "events.jsonl").read_text().splitlines(keepends=True)
    cut = make_probe()
    for count in range(len(lines)):
        (cut.path / "events.jsonl").write_text("".join(lines[:count]))
        story = tell_probe(cut.path)
        assert story.status == "unfinished"
        if count % 6 == 0:
            assert "unfinished: it still runs, or was killed" in probe_page(story)


def test_report_tells_a_probe_from_a_search(whole_probe, tmp_path):
    """`write_page` gives a probe its own page; as one of several searches it is refused by name, in one line."""
    page = write_page(whole_probe.path).read_text()
    assert "coevo probe" in page
    for refused in (lambda: tell_run(whole_probe.path), lambda: write_comparison([whole_probe.path], tmp_path / "c")):
        with pytest.raises(RunError, match=r"^expected a search, got a probe in ") as caught:
            refused()
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "c").exists()


def test_controls_are_named(make_probe):
    """A page says where members were told noise, or where nothing moved."""
    for settings, words in (
        ({"rewards": "random"}, "seeded noise in place"),
        ({"learns": False}, "the weights stayed"),
    ):
        probe = make_probe(guard=False, **settings)
        assert words in probe_page(tell_probe(probe.path))


@pytest.mark.parametrize("kind", ["probe", "round", "asked", "batch", "step", "guard", "parents", "child", "started"])
def test_an_edited_probe_is_refused(whole_probe, kind):
    """An event that lacks what this version writes is named on one line."""
    file = whole_probe.path / "events.jsonl"
    place = next(n for n, event in enumerate(whole_probe.events) if event["kind"] == kind)
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:place], json.dumps({"kind": kind}), *lines[place + 1 :]]) + "\n")
    with pytest.raises(RunError, match=f"expected a {kind} event as this version writes it") as caught:
        tell_probe(whole_probe.path)
    assert "\n" not in str(caught.value)


def test_a_measurement_of_another_kind_is_refused(whole_probe):
    """What a model of the events refuses is told on one line, too."""
    event = next(e for e in whole_probe.events if e["kind"] == "probe")
    with (whole_probe.path / "events.jsonl").open("a") as file:
        file.write(json.dumps({**event, "when": "never\nat all"}) + "\n")
    with pytest.raises(RunError, match="expected a probe event") as caught:
        tell_probe(whole_probe.path)
    assert "\n" not in str(caught.value)


def test_a_hostile_probe_is_text(make_probe, read_page, hostile):
    """What a configuration or an event says is shown as it is."""
    probe = make_probe()
    text = hostile.encode(errors="replace").decode()
    probe.emit("started", version=text, problem=text, fingerprint=text)
    page = read_page(probe_page(tell_probe(probe.path)))
    assert not {"script", "iframe", "img", "object"} & {tag for tag, _ in page.tags}
    assert "window.ran = 1" in page.text

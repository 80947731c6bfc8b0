"""The page of one probe: what the unperturbed model was worth before, during and after, and how it moved."""

from collections.abc import Sequence

from coevo.reporting import tables
from coevo.reporting.axes import Axis, axis_for
from coevo.reporting.chart import Chart, Series, line_chart
from coevo.reporting.figures import Figure
from coevo.reporting.movement import movement
from coevo.reporting.page import render
from coevo.reporting.probe_story import ProbeStory, Round
from coevo.reporting.run_page import SHOWN_CODE, Fact, environment_table
from coevo.reporting.tables import Table, table
from coevo.reporting.text import DASH, count, number, percent, whole
from coevo.reporting.wording import probe_reward_in_words
from coevo.searching.metering import valid_share

STATUSES = {
    "done": "finished",
    "interrupted": "interrupted, as result.json says; it can be resumed",
    "unfinished": "unfinished: it still runs, or was killed",
}
SETS = {"trained": "trained", "held_out": "held out"}
"""Parents whose children earn the rewards, and parents that are only measured, as a page calls them."""


def probe_page(story: ProbeStory) -> str:
    """The page of a probe as HTML."""
    return render(
        "probe.html.j2",
        story=story,
        status=STATUSES.get(story.status, story.status),
        facts=_facts(story),
        measured=_table(story) if story.measurements else None,
        reward=probe_reward_in_words(story.settings, story.scale),
        figures=[each for each in (_rewards(story), _valid(story), _members(story)) if each],
        learning=movement(story),
        environment=environment_table(story.version, story.environment),
        limit=SHOWN_CODE,
    )


def _facts(story: ProbeStory) -> tuple[Fact, ...]:
    facts = [_change(story, name) for name in SETS]
    facts.append(Fact("completions in training", count(story.spent.get("training", 0)),
                      f"of {count(story.settings.training)} planned; {count(story.spent.get('evaluation', 0))} to "
                      f"measure, {count(story.spent.get('parents', 0))} for parents"))  # fmt: skip
    moved = sum(step.is_applied for step in story.steps)
    facts.append(Fact("steps that moved the weights", count(moved), f"of {count(len(story.steps))} taken"))
    if story.guards:
        refused = sum(each.is_refused for each in story.guards)
        facts.append(Fact("steps refused by the guard", count(refused), f"of {count(len(story.guards))}"))
    return tuple(facts)


def _change(story: ProbeStory, name: str) -> Fact:
    """How the reward on one set of parents changed, with its standard error."""
    title = f"change on {SETS[name]} parents"
    found = story.measured("after", name)
    if found is None or found.change is None or found.change_error is None:
        return Fact(title, DASH, "not measured yet")
    return Fact(title, _signed(found.change, found.change_error), "mean reward after − before ± standard error, paired")


def _signed(value: float, error: float) -> str:
    return f"{'+' if value >= 0 else ''}{number(value, 3)} ± {number(error, 2)}"


def _table(story: ProbeStory) -> Table:
    heads = ("measured", "parents", "after steps", "completions", "reward", "standard error", "change", "its error",
             "valid", "better", "distinct")  # fmt: skip
    rows = (
        (tables.words(m.when), tables.words(SETS[m.parents]), tables.whole(m.step), tables.whole(m.completions),
         *(tables.real(value, 4) for value in (m.reward, m.standard_error, m.change, m.change_error)),
         tables.share(m.valid), tables.share(m.improved), tables.whole(m.distinct))
        for m in story.measurements
    )  # fmt: skip
    return table("The unperturbed model, measured", heads, rows)


def _rewards(story: ProbeStory) -> Figure | None:
    """The unperturbed model's mean reward against the steps taken, on paired seeds."""
    paired = [each for each in story.measurements if each.when != "fresh"]
    if not paired:
        return None
    series = []
    for name, shown in SETS.items():
        own = [each for each in paired if each.parents == name]
        series.append(Series(shown, [each.step for each in own], [each.reward for each in own]))
    x = axis_for("steps taken", [each.step for each in paired], floor=0, integer=True, show=whole)
    y = axis_for("mean reward (maximised)", [each.reward for each in paired])
    title = "What the unperturbed model earns"
    ends = "; ".join(f"{each.name} {number(each.ys[-1], 3)}" for each in series if each.ys)
    caption = (
        "Mean reward of the unperturbed model's children, on the parents it is trained on and on others, with the same "
        "seeds at every point. Standard errors are in the table of measurements."
    )
    drawing = line_chart(Chart(title, f"In the end: {ends}.", x, y, tuple(each for each in series if each.ys)))
    rows = ((tables.words(SETS[m.parents]), tables.whole(m.step), tables.real(m.reward, 4),
             tables.real(m.standard_error, 4)) for m in paired)  # fmt: skip
    heads = ("parents", "after steps", "reward", "standard error")
    return Figure("rewards", title, caption, drawing, table("Rewards on paired seeds", heads, rows))


def _valid(story: ProbeStory) -> Figure | None:
    """The valid share of the members' children."""
    caption = "Share of the members' children that are valid, in each step."
    shares = [valid_share(each.valid, each.children) for each in story.rounds]
    y = Axis("valid children", 0.0, 1.0, show=lambda value: percent(value, 0))
    return _by_step("valid", "Valid share of the members", caption, story.rounds, shares, y)


def _members(story: ProbeStory) -> Figure | None:
    """The mean reward of the members' children."""
    caption = "Mean reward of the members' children in each step, on the parents that are trained on."
    rewards = [each.reward for each in story.rounds]
    y = axis_for("mean reward (maximised)", [value for value in rewards if value is not None])
    return _by_step("members", "What the members earn", caption, story.rounds, rewards, y)


def _by_step(
    key: str, title: str, caption: str, rounds: Sequence[Round], values: Sequence[float | None], y: Axis
) -> Figure | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    steps = [each.step for each in rounds]
    x = axis_for("step", steps, integer=True, show=whole)
    description = f"{len(rounds)} steps; from {number(known[0], 3)} to {number(known[-1], 3)}."
    drawing = line_chart(Chart(title, description, x, y, (Series(title, steps, values),), labelled=False))
    rows = (
        (tables.whole(r.step), tables.whole(r.children), tables.whole(r.valid),
         tables.share(valid_share(r.valid, r.children)), tables.real(r.reward, 4))
        for r in rounds
    )  # fmt: skip
    heads = ("step", "children", "valid", "share", "mean reward")
    return Figure(key, title, caption, drawing, table(f"The members' children: {title}", heads, rows))

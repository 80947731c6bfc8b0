"""How a model moved in a run of any kind: figures of σ, of the updates, and of what the guard refused."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from coevo.experiments.probe_config import ProbeConfig
from coevo.reporting import tables
from coevo.reporting.axes import Axis, axis_for
from coevo.reporting.chart import Chart, Series, line_chart
from coevo.reporting.figures import Figure
from coevo.reporting.learning_story import GuardStory, StepStory
from coevo.reporting.tables import Table, table
from coevo.reporting.text import count, number, percent, whole
from coevo.searching.config import SearchConfig
from coevo.tuning.config import TuneConfig


class Moved(Protocol):
    """The story of a run whose model evolves."""

    @property
    def settings(self) -> SearchConfig | ProbeConfig | TuneConfig:
        """The run's configuration."""

    @property
    def steps(self) -> tuple[StepStory, ...]:
        """The steps of the evolution strategy."""

    @property
    def guards(self) -> tuple[GuardStory, ...]:
        """The guard's decisions, one per step, if there was a guard."""


def movement(story: Moved) -> list[Figure]:
    """Every figure that the events tell."""
    return [each for each in (sigma(story), update_length(story), guard(story)) if each]


def sigma(story: Moved) -> Figure | None:
    """σ of each step; of a tuning run by generation, which is one step."""
    caption = "Standard deviation σ of the noise that makes each perturbed model, in weight units."
    if story.guards and story.guards[-1].scale < 1:
        caption += f" The guard has narrowed it to {number(story.guards[-1].scale, 3)} of its schedule."
    values = [step.sigma for step in story.steps]
    return _by_step(story, "sigma", "Perturbation σ", caption, Series("σ (weight units)", [], values))


def update_length(story: Moved) -> Figure | None:
    """The length of each step's update."""
    subspaces = story.settings.evolution_strategy.subspaces
    k = f", divided by the root of {subspaces} subspaces" if subspaces != 1 else ""
    guided = story.settings.weights.scope == "guided"
    meaning = "in coordinates of the guided basis" if guided else "expected root mean square change of one weight"
    caption = f"Length of the update, √Σc² of its coefficients c{k}: {meaning}. 0 where the weights stayed."
    values = [step.length for step in story.steps]
    return _by_step(story, "update", "Update length", caption, Series("√Σc²", [], values))


def _by_step(story: Moved, key: str, title: str, caption: str, series: Series) -> Figure | None:
    if not story.steps:
        return None
    by_generation = isinstance(story.settings, TuneConfig)
    places = [step.generation if by_generation else step.step for step in story.steps]
    known = [value for value in series.ys if value is not None]
    description = f"{len(places)} steps; from {number(known[0], 3)} to {number(known[-1], 3)}."
    x = axis_for("generation" if by_generation else "step", places, integer=True, show=whole)
    y = axis_for(series.name, known, floor=0.0, show=lambda value: number(value, 3))
    drawing = line_chart(Chart(title, description, x, y, (replace(series, xs=places),), labelled=False))
    return Figure(key, title, caption, drawing, _steps(story.steps, by_generation=by_generation))


def _steps(steps: Sequence[StepStory], *, by_generation: bool) -> Table:
    """The steps in numbers; where a generation is one step, its number and no operator says which."""
    places = ("generation",) if by_generation else ("step", "generation", "operator")
    heads = (*places, "σ", "√Σc²", "mean reward", "its spread", "fingerprint after")
    rows = (
        (*((tables.whole(s.generation),) if by_generation
           else (tables.whole(s.step), tables.whole(s.generation), tables.words(s.operator))),
         tables.real(s.sigma, 4), tables.real(s.length, 4), tables.real(s.mean_reward, 4), tables.real(s.spread, 4),
         tables.code(s.fingerprint))
        for s in steps
    )  # fmt: skip
    return table("Steps", heads, rows)


def guard(story: Moved) -> Figure | None:
    """What the guard let pass and what it refused."""
    if not story.guards:
        return None
    xs = [each.step for each in story.guards]
    refused = [each.step for each in story.guards if each.is_refused]
    lines = (
        Series("valid", xs, [each.valid for each in story.guards]),
        Series("bound", xs, [each.bound for each in story.guards], stepped=True),
    )
    steps = f"Steps {', '.join(map(str, refused))}" if len(refused) > 1 else f"Step {refused[0]}" if refused else "None"
    caption = (
        "Share of valid children of each step's members, and the least with which the guard lets a step move the "
        f"weights. {count(len(refused))} of {count(len(xs))} steps refused; σ and α of the steps that follow are "
        f"{number(story.guards[-1].scale, 3)} of their settings."
    )
    x = axis_for("step", xs, integer=True, show=whole)
    y = Axis("valid children", 0.0, 1.0, show=lambda value: percent(value, 0))
    drawing = line_chart(Chart("The guard", f"Refused: {steps}.", x, y, lines))
    heads = ("step", "valid", "bound", "refused", "scale of σ and α after it")
    rows = (
        (tables.whole(g.step), tables.share(g.valid), tables.share(g.bound),
         tables.words("refused" if g.is_refused else "held"), tables.real(g.scale, 4))
        for g in story.guards
    )  # fmt: skip
    return Figure("guard", "The guard", caption, drawing, table("The guard's decisions", heads, rows))

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from coevo.errors import ContentError
from coevo.skills import Lesson, ModelAnalyst, Passage, Skill, SkillSettings, Trace, most_completions, update_skill
from coevo.skills.merging import num_levels, union
from coevo.skills.patch import Edit, Hints, Patch, Proposal

WORDS = [
    "divide",
    "by",
    "the",
    "mean",
    "nearest",
    "nodes",
    "ignore",
    "above",
    "you",
    "0.123456789",
    "```",
    "<|x|>",
    "os",
]


class ListedAnalyst:
    """Gives the patches it was made with, and merges by union."""

    is_cumulative = False

    def __init__(self, patches):
        self._patches = patches

    def choose(self, traces, settings):
        """All of them."""
        return list(traces)

    def lessons(self, skill, traces, settings):
        """The patches."""
        return [Proposal(patch) for patch in self._patches]

    def merge(self, skill, level, groups, settings):
        """The union of each group."""
        return [Proposal(union(group)) for group in groups]


def traces_of(count):
    """Traces with nothing in them."""
    return [Trace(str(n), "tiny", "good", (Passage("Text", "x = 1"),), 1.0) for n in range(count)]


TEXT = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join) | st.text(max_size=60)
EDIT = st.one_of(
    st.builds(Edit, st.just("add"), st.sampled_from(["worked", "failed", "open", "else"]), text=TEXT),
    st.builds(Edit, st.just("replace"), target=st.sampled_from(["Look ahead.", "Nothing."]), text=TEXT),
    st.builds(Edit, st.just("drop"), target=st.sampled_from(["Look ahead.", "Nothing."])),
)
SKILL = Skill("tiny", 0, (Lesson("worked", "Look ahead.", 2),))


@effort(max_examples=25)
@given(st.lists(EDIT, min_size=1, max_size=40), st.integers(16, 80), st.integers(1000, 6000), st.integers(0, 2**32))
def test_three_hundred_patches_stay_within_the_bound(edits, lines, chars, seed):
    """Whatever 300 patches say, the skill keeps its bounds and parses again, in ⌈log_B n⌉ levels."""
    settings = SkillSettings(max_lines=lines, max_chars=chars)
    deal = random.Random(seed)
    patches = []
    for n in range(300):
        own = [replace(edit, evidence=(str(n),)) for edit in deal.choices(edits, k=3)]
        # Half of them say something that no other says.
        own[0] = replace(own[0], text=f"{own[0].text} {n}") if n % 2 and own[0].kind != "drop" else own[0]
        patches.append(Patch(tuple(own)))
    update = update_skill(SKILL, traces_of(300), ListedAnalyst(patches), settings)
    assert update.skill.fits(settings)
    assert Skill.parse(update.skill.text) == update.skill
    passed = update.levels[0].patches if update.levels else 0
    assert len(update.levels) == num_levels(passed, settings.group)
    assert update.is_changed == (update.skill != SKILL)


def test_three_hundred_different_lessons():
    """300 lessons in four levels: the document is full, what recurred is in it, the rest is reported."""
    texts = [f"Lesson number {n} of many." for n in range(300)]
    patches = [Patch((Edit("add", "open", text=text, evidence=(str(n),)),)) for n, text in enumerate(texts)]
    patches[200] = patches[100] = Patch((Edit("add", "worked", text="It recurs often.", evidence=("7", "8")),))
    update = update_skill(Skill("tiny"), traces_of(300), ListedAnalyst(patches), SkillSettings())
    assert len(update.levels) == 4
    assert update.skill.lessons[0] == Lesson("worked", "It recurs often.", 2)
    assert update.skill.text.count("\n") == 80
    assert len(update.rejected) == 299 - len(update.skill.lessons)


def test_the_order_of_patches_does_not_matter():
    """With the deterministic merge an update is a function of the patches as a set."""
    patches = [Patch((Edit("add", "open", text=f"Idea number {n % 7}.", evidence=(str(n),)),)) for n in range(40)]
    first, second = (
        update_skill(SKILL, traces_of(40), ListedAnalyst(each), SkillSettings(group=3)).skill
        for each in (patches, patches[::-1])
    )
    assert first == second


def test_facts_are_plain_and_hold_the_whole_skill():
    """What goes into the log survives JSON, and the skill can be made of it again."""
    patch = Patch(
        (Edit("add", "open", text="An idea indeed.", evidence=("1",)), Edit("add", "x", text="No.")), Hints(("exp",))
    )
    update = update_skill(SKILL, traces_of(3), ListedAnalyst([patch, patch]), SkillSettings())
    facts = update.facts()
    assert json.loads(json.dumps(facts)) == facts
    assert Skill.parse(facts["text"]) == update.skill
    assert (facts["version"], facts["use"], facts["traces"], facts["lessons"]) == (1, ["exp"], 3, 2)
    assert facts["levels"] == [[2, 1, 0]]
    assert facts["rejected"] == [["add to x: No.", "rests on no trace"]] * 2


def test_an_update_is_repeatable(scripted_ask, prompts, trace):
    """The same skill, traces and answers make the same update, so that a resumed run can compare it."""
    traces = [trace(f"1.m1.{n}", n - 5.5) for n in range(12)]

    def once():
        ask = scripted_ask(lambda stage, place: f"ADD open: Idea number {place}." if place % 4 else None)
        return update_skill(SKILL, traces, ModelAnalyst(ask, prompts, "t"), SkillSettings()), ask.prompts

    assert once() == once()


@given(st.integers(1, 40), st.integers(1, 30), st.integers(2, 6), st.integers(0, 2**32))
@effort(max_examples=40)
def test_no_update_asks_more_than_it_says(scripted_ask, prompts, count, most, group, pattern):
    """Whatever the answers, completions stay within what the budget was told."""
    settings = SkillSettings(max_traces=most, group=group)
    ask = scripted_ask(lambda stage, n: (None, "NONE", "ADD open: An idea indeed.", "?")[pattern >> (n % 16) * 2 & 3])
    update_skill(Skill("tiny"), traces_of(count), ModelAnalyst(ask, prompts, "t"), settings)
    assert len(ask.prompts) <= most_completions(settings)


@pytest.mark.parametrize("text", [Skill("a b").text, SKILL.text])
def test_a_skill_comes_back_from_an_event(text):
    """The recorded text is enough."""
    assert Skill.parse(text).text == text
    with pytest.raises(ContentError):
        Skill.parse(text.replace("Version", "version"))

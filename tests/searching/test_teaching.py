import dataclasses

import pytest

from coevo.errors import ConfigError, ContentError
from coevo.interfaces import Completion
from coevo.records.event_log import read_events
from coevo.searching.analysts import check_analyst
from coevo.searching.assemble import check_skill
from coevo.searching.closing import Tally
from coevo.searching.config import make_config
from coevo.searching.loop import evolve
from coevo.searching.methods import operators_of
from coevo.searching.preview import preview
from coevo.skills import Skill, most_completions

SKILLED = {"skill_every": 1, "skill": {"max_traces": 6}}


def events_of(run, kind):
    """The recorded events of one kind."""
    return [event for event in read_events(run.directory.events) if event["kind"] == kind]


def mentored(run):
    """The same run, whose engine answers analysts: one lesson per trace, and a lesson of its own per merge."""
    write = run.engine.generate

    def generate(requests):
        for request in requests:
            if ".skill." not in request.id:
                yield from write([request])
                continue
            run.engine.requests.append(request)
            text = f"ADD worked: prefer nodes of kind {len(request.id)}"
            yield Completion(request.id, f"{text} FROM 1" if ".merge." in request.id else text, "stop", 9)

    run.engine.generate = generate
    return run


def test_what_children_teach_stands_in_the_prompts_from_the_next_generation_on(harness):
    """The first generation is asked as ever; later prompts hold the lessons, in the operators' own place for them."""
    run = mentored(harness(budget=200, es="off", **SKILLED))
    evolve(run.search)
    versions = events_of(run, "skill")
    assert [event["version"] for event in versions] == [*range(1, 1 + len(versions))]
    for request in run.engine.requests:
        generation, operator, *_ = request.id.split(".")
        if operator != "skill":
            assert ("prefer nodes of kind" in request.text) == (int(generation) > 1)
    assert "$" not in run.engine.requests[-1].text
    assert (run.directory.path / "SKILL.md").read_text() == versions[-1]["text"]


def test_the_skill_is_not_updated_after_the_last_generation(harness):
    """Nobody would read it; and between updates there are `skill_every` generations."""
    run = mentored(harness(budget=310, es="off", skill_every=2, skill={"max_traces": 3}))
    evolve(run.search)
    assert len(run.search.plan.generations) == 5
    assert [event["generation"] for event in events_of(run, "skill")] == [2, 4]


def test_skill_completions_have_a_meter_of_their_own(harness):
    """Operators spend exactly the budget; what the skill costs is counted apart, and never more than was announced."""
    run = mentored(harness(budget=200, **SKILLED))
    evolve(run.search)
    asked = run.asked()
    tally = Tally(charges_first=True)
    for event in read_events(run.directory.events):
        tally.take(event)
    assert asked["skill"] == tally.skill > 0
    assert sum(asked.values()) - asked["skill"] == tally.asked == 200
    updates = len(events_of(run, "skill"))
    assert tally.skill <= updates * most_completions(run.config.skill)


def test_the_text_of_every_version_is_in_the_log(harness):
    """A version can be read back from its event, whole."""
    run = mentored(harness(budget=200, es="off", **SKILLED))
    evolve(run.search)
    for event in events_of(run, "skill"):
        skill = Skill.parse(event["text"])
        assert (skill.version, skill.title, skill.text) == (event["version"], "tsp", event["text"])


def test_statistics_ask_nobody(harness):
    """The deterministic analyst costs no completion, whoever writes."""
    run = harness(budget=300, es="off", skill_every=1, skill_model="statistics")
    evolve(run.search)
    assert run.asked()["skill"] == 0
    assert len(events_of(run, "skill")) == len(run.search.plan.generations) - 1


def test_without_a_skill_there_is_no_trace_of_one(harness):
    """No event, no file, no completion."""
    run = harness(budget=140)
    evolve(run.search)
    assert events_of(run, "skill") == []
    assert not (run.directory.path / "SKILL.md").exists()


def test_the_embedded_model_cannot_be_an_analyst():
    """It reads slots, no words: refused in one line that says what would do."""
    config = make_config({"budget": 50, "skill_every": 1, "skill_model": "embedded"})
    with pytest.raises(ConfigError, match=r"reads slots; name another one, or take --skill-model statistics"):
        check_analyst(config)


def test_an_operator_without_a_place_for_the_skill_is_refused():
    """A skill that no prompt holds would be paid for in vain; without a skill such an operator is fine."""
    config = make_config({"budget": 50, "model": "script.json", "engine": "scripted", "skill_every": 1})
    operators = operators_of(config)
    check_skill(config, operators)
    operators["e2"] = dataclasses.replace(operators["e2"], takes_skill=False)
    with pytest.raises(ContentError, match=r"found none in e2\.md"):
        check_skill(config, operators)
    check_skill(config.model_copy(update={"skill_every": None}), operators)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"method": "grammar", "skill_every": 1}, "drop skill_every"),
        ({"skill_model": "statistics"}, "without skill_every"),
        ({"method": "sample", "reward": "difference"}, "take cost or rank"),
        ({"skill_every": 0}, "skill_every"),
        ({"es": "off", "guard": True}, "no members to guard"),
        ({"es": "off", "learns": False}, "no members to guard or to perturb"),
        ({"learns": False, "guard": True}, "drop one of them"),
        ({"skill_every": 1, "skill": {"group": 1}}, "group"),
    ],
)
def test_what_does_not_go_together_is_refused(values, said):
    """One line names the fields."""
    with pytest.raises(ConfigError, match=said) as caught:
        make_config({"budget": 50, **values})
    assert "\n" not in str(caught.value)


def test_the_plan_says_what_the_skill_may_cost():
    """Updates by a model cost completions beside the budget, statistics none."""
    assert preview(make_config({"budget": 200})).plan.count("skill") == 0
    counted = preview(make_config({"budget": 200, "skill_every": 1})).plan.splitlines()[-1]
    assert counted == "2 updates of the skill, for at most 0 completions beside the budget"
    other = make_config({"budget": 200, "skill_every": 1, "skill_model": "http://127.0.0.1:1/v1#m"})
    assert preview(other).plan.splitlines()[-1] == (
        f"2 updates of the skill, for at most {2 * most_completions(other.skill)} completions beside the budget"
    )

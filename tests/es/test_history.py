import json
import logging
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from coevo import noise
from coevo.block import Block
from coevo.errors import ConfigError, RunError
from coevo.es import ESSettings, EvolutionStrategy, StepRecord, WeightRecipe, read_history, updates
from coevo.interfaces import Partition, Update

RUN = 2**64 - 59


def a_step(rewards, *, strategy=None, antithetic=False, sigma=1e-3):
    """One told step: its record before the weights move, and its update."""
    strategy = strategy or EvolutionStrategy(ESSettings(antithetic=antithetic), RUN)
    members = strategy.ask(sigma, len(rewards))
    by_identity = dict(zip((member.identity for member in members), rewards, strict=True))
    update = strategy.tell(by_identity)
    return StepRecord.of(members, by_identity, update, generation=strategy.step // 2, operator="m1"), update


def a_history(num_steps=4, seed=0):
    """Records and updates of a run of several applied steps."""
    strategy, rng = EvolutionStrategy(ESSettings(antithetic=True), RUN), np.random.default_rng(seed)
    steps = [a_step(rng.standard_normal(6).tolist(), strategy=strategy) for _ in range(num_steps)]
    return [record.after(7, applied=True) for record, _ in steps], [update for _, update in steps]


def changed(record, **fields):
    """The line of a record with some fields overwritten, whatever they are."""
    return json.dumps(json.loads(record.to_line()) | fields) + "\n"


@given(
    rewards=st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=8),
    sigma=st.floats(0, 1),
    fingerprint=st.integers(0, 2**64 - 1),
)
def test_a_record_survives_its_line_to_the_last_bit(rewards, sigma, fingerprint):
    """Written and read again, every number is the same float, and the update is the one that was applied."""
    record, update = a_step(rewards, sigma=sigma)
    record = record.after(fingerprint, applied=update is not None)
    again = StepRecord.from_line(record.to_line())
    assert again == record
    assert again.update == update
    assert again.rewards == tuple(rewards)
    assert int(again.fingerprint, 16) == fingerprint
    assert int(again.run_key, 16) == RUN


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_every_fp32_value_survives(coefficients):
    """The decimal text of a coefficient names one fp32 number: the smallest, the largest and minus zero too."""
    count = len(coefficients)
    record = StepRecord(
        run_key="0" * 16,
        step=0,
        generation=0,
        operator="m1",
        sigma=0.5,
        directions=range(count),
        signs=[1] * count,
        rewards=[0.0] * count,
        coefficients=coefficients,
    )
    again = np.array(StepRecord.from_line(record.to_line()).coefficients, np.float32)
    assert again.tobytes() == np.array(coefficients, np.float32).tobytes()


def test_a_record_is_one_plain_json_line():
    """One line, one flat object, standard JSON, with the versions of the record and of the noise."""
    record, _ = a_step([1.0, 2.0])
    line = record.after(255, applied=True).to_line()
    assert line.count("\n") == 1
    assert json.loads(line) == {
        "schema_version": 1,
        "noise_scheme": "coevo-noise-v1",
        "run_key": "ffffffffffffffc5",
        "step": 0,
        "generation": 0,
        "operator": "m1",
        "sigma": float(np.float32(1e-3)),
        "directions": [0, 1],
        "signs": [1, 1],
        "rewards": [1.0, 2.0],
        "coefficients": [-float(np.float32(2.5e-4)), float(np.float32(2.5e-4))],
        "applied": True,
        "fingerprint": "00000000000000ff",
    }


def test_antithetic_members_share_a_coefficient():
    """Directions and signs stand per member, coefficients per direction."""
    record, update = a_step([1.0, 4.0, 2.0, 2.5], antithetic=True)
    assert record.directions == (0, 0, 1, 1)
    assert record.signs == (1, -1, 1, -1)
    assert record.after(1, applied=True).update == update
    assert len(record.coefficients) == 2


def test_updates_are_those_of_the_applied_steps():
    """A step that moved nothing (no spread, or a run that only samples) is in the history and not in the replay."""
    records, expected = a_history()
    strategy = EvolutionStrategy(ESSettings(), RUN, step=4)
    still, _ = a_step([1.0, 1.0], strategy=strategy)
    watched, _ = a_step([1.0, 2.0], strategy=strategy)
    lines = [record.to_line() for record in [*records, still, watched]]
    assert list(updates(lines)) == expected
    assert [record.step for record in read_history(lines)] == [0, 1, 2, 3, 4, 5]


def test_replay_reaches_the_weights_of_the_live_run():
    """A file of a few lines rebuilds the trained weights bit for bit."""
    records, moves = a_history()
    live, replayed = np.ones((5, 1000), np.float32), np.ones((5, 1000), np.float32)
    block = Block.whole("w", (5, 1000))
    for weights, source in ((live, moves), (replayed, updates(record.to_line() for record in records))):
        for update in source:
            noise.apply_update(weights, block, update, "master")
    assert (live != 1).any()
    assert replayed.tobytes() == live.tobytes()


def test_replay_consumes_the_record_and_not_the_rewards():
    """Recorded coefficients win over what the rewards would give today."""
    record, update = a_step([1.0, 2.0, 3.0])
    line = changed(record.after(1, applied=True), rewards=[9.0, 9.0, -9.0])
    assert list(updates([line])) == [update]


def test_a_cut_off_last_line_is_left_out(caplog):
    """After a kill the last line may be torn: it is dropped with a warning, the steps before it stand."""
    records, expected = a_history()
    lines = [record.to_line() for record in records]
    with caplog.at_level(logging.WARNING):
        assert list(updates([*lines[:3], lines[3][:-40]])) == expected[:3]
    assert "history line 4 is cut off" in caplog.text


def test_a_missing_last_newline_is_no_fault():
    """A complete last record counts, with or without its newline, and so do blank lines."""
    records, expected = a_history()
    text = "\n".join(record.to_line() for record in records).rstrip()
    assert list(updates(text.splitlines())) == expected


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"schema_version": 3}, "schema_version"),
        ({"rank": 0}, "a record of version 1 has no rank"),
        ({"noise_scheme": "other"}, "noise_scheme"),
        ({"run_key": "abc"}, "run_key"),
        ({"sigma": 1e-3}, "sigma: .*exact in fp32, got 0.001"),
        ({"coefficients": [0.1, 0.5, 0.5]}, "coefficients.0: .*exact in fp32, got 0.1"),
        ({"coefficients": [1e39, 0.5, 0.5]}, "exact in fp32"),
        ({"coefficients": [0.5]}, "one coefficient for each of 3 directions, got 1"),
        ({"coefficients": []}, "an applied step needs its coefficients"),
        ({"signs": [1, 1, 0]}, "signs.2"),
        ({"rewards": [1.0]}, "one entry per member"),
        ({"rewards": [1.0, 2.0, math.nan]}, "NaN is not JSON"),
        ({"rewards": [1.0, 2.0, math.inf]}, "Infinity is not JSON"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_damaged_line_is_refused(fields, text):
    """A record that is not exactly what was written is an error that names the line and the field."""
    record, _ = a_step([1.0, 2.0, 4.0])
    lines = [changed(record.after(1, applied=True), **fields)]
    with pytest.raises(RunError, match=rf"history line 1: .*{text}"):
        list(updates(lines))


def test_a_torn_line_in_the_middle_is_refused():
    """Only the last line can be torn by a kill; anywhere else updates would be lost."""
    lines = [record.to_line() for record in a_history()[0]]
    with pytest.raises(RunError, match="history line 2: expected one JSON object per line"):
        read_history([lines[0], lines[1][:50], lines[2]])


def test_mixed_or_shuffled_histories_are_refused():
    """Steps of another run, repeated steps and steps out of order are not a history."""
    records, _ = a_history()
    lines = [record.to_line() for record in records]
    with pytest.raises(RunError, match="line 2: expected a step of run ffffffffffffffc5, got run 0000000000000001"):
        read_history([lines[0], changed(records[1], run_key=f"{1:016x}")])
    with pytest.raises(RunError, match="line 2: expected a step after 0, got 0"):
        read_history([lines[0], lines[0]])
    with pytest.raises(RunError, match="line 3: expected a step after 2, got 1"):
        read_history([lines[0], lines[2], lines[1]])


def test_numbers_that_json_lacks_cannot_be_recorded():
    """NaN and infinity are stopped when the record is made."""
    record, _ = a_step([1.0, 2.0])
    with pytest.raises(ValidationError, match="finite"):
        StepRecord.model_validate(record.model_dump() | {"rewards": (1.0, math.nan)})


def test_a_record_gives_the_update_type_of_the_engines():
    """What replay hands to an engine is the same value the live run handed to it."""
    record, update = a_step([1.0, 2.0])
    assert isinstance(record.after(1, applied=True).update, Update)
    assert record.after(1, applied=True).update == update
    assert record.update is None


def a_second_step(recipe=None, **settings):
    """One told step of a strategy with these settings: its applied record, and its update."""
    strategy = EvolutionStrategy(ESSettings(members=8, **settings), RUN)
    members = strategy.ask(1e-3)
    rewards = {member.identity: float(place) for place, member in enumerate(members)}
    update = strategy.tell(rewards)
    record = StepRecord.of(members, rewards, update, generation=1, operator="m1", recipe=recipe)
    return record.after(9, applied=True), update


@pytest.mark.parametrize(
    "settings",
    [
        {"subspaces": 4},
        {"subspaces": 2, "subspace_unit": "tile", "antithetic": True},
        {"rank": 3},
        {"recipe": WeightRecipe(scope="linear")},
        {"recipe": WeightRecipe("mlp", "bfloat16", "stochastic"), "subspaces": 2},
    ],
)
def test_what_version_1_cannot_say_is_a_record_of_version_2(settings):
    """Subspaces, rank and recipe survive the line, and the update is the one that was applied."""
    record, update = a_second_step(**settings)
    again = StepRecord.from_line(record.to_line())
    assert again == record
    assert again.schema_version == 2
    assert again.update == update
    assert again.recipe == settings.get("recipe", WeightRecipe())


def test_guided_steps_name_their_basis():
    """A guided step is of version 2 and keeps its basis; a step without one does not write the field."""
    strategy = EvolutionStrategy(ESSettings(members=4, antithetic=True), RUN, basis=2**63 + 9)
    members = strategy.ask(1e-3)
    rewards = {member.identity: float(place) for place, member in enumerate(members)}
    update, recipe = strategy.tell(rewards), WeightRecipe("guided", basis=2**63 + 9)
    record = StepRecord.of(members, rewards, update, generation=1, operator="m1", recipe=recipe).after(9, applied=True)
    again = StepRecord.from_line(record.to_line())
    assert {member.basis for member in members} == {2**63 + 9}
    assert (again.schema_version, again.update, again.recipe) == (2, update, recipe)
    assert json.loads(record.to_line())["basis"] == "8000000000000009"
    assert "basis" not in json.loads(a_second_step(rank=1)[0].to_line())
    with pytest.raises(RunError, match=r"basis 8000000000000009, got .*rule master; do not join"):
        read_history([record.to_line(), changed(record, step=9, basis="0" * 16)])


@pytest.mark.parametrize("settings", [{"rank": 1}, {"subspaces": 2}])
def test_guided_members_have_neither_rank_nor_subspaces(settings):
    """Both are refused before anything is asked."""
    with pytest.raises(ConfigError, match="rank 0 and 1 subspace"):
        EvolutionStrategy(ESSettings(members=4, **settings), RUN, basis=1)


def test_a_plain_step_is_still_a_record_of_version_1():
    """Histories written before subspaces, rank and recipes existed read on, and their like is written like them."""
    record, update = a_second_step(recipe=WeightRecipe())
    assert record.schema_version == 1
    assert json.loads(record.to_line()).keys() == json.loads(a_step([1.0, 2.0])[0].to_line()).keys()
    assert (record.recipe, update.partition, record.update) == (WeightRecipe(), None, update)


def test_a_record_of_version_2_says_everything():
    """It leaves nothing to defaults that a later version might change."""
    record, _ = a_second_step(subspaces=4)
    assert json.loads(record.to_line()) | {"rewards": [], "coefficients": []} == {
        "schema_version": 2,
        "noise_scheme": "coevo-noise-v1",
        "run_key": "ffffffffffffffc5",
        "step": 0,
        "generation": 1,
        "operator": "m1",
        "sigma": float(np.float32(2e-3)),
        "directions": [0, 1, 2, 3, 4, 5, 6, 7],
        "signs": [1] * 8,
        "rewards": [],
        "coefficients": [],
        "applied": True,
        "fingerprint": "0000000000000009",
        "subspace_count": 4,
        "subspace_unit": "element",
        "subspaces": [0, 1, 2, 3, 0, 1, 2, 3],
        "rank": 0,
        "scope": "full",
        "storage": "float32",
        "update_rule": "master",
    }


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"schema_version": 1}, "version 1 has no rank"),
        ({"subspace_count": 1}, "the subspace of every member where there are several"),
        ({"subspaces": [0, 1]}, "the subspace of every member"),
        ({"subspaces": [0, 1, 0, 1, 0, 1, 0, 2]}, "expected subspaces below 2, got 2"),
        ({"directions": [0, 0, 1, 1, 2, 2, 3, 3], "coefficients": [1, 1, 1, 1]}, "a direction must share a subspace"),
        ({"subspace_unit": "row"}, "subspace_unit"),
        ({"storage": "int8"}, "storage"),
        ({"update_rule": "adam"}, "update_rule"),
        ({"rank": -1}, "rank"),
    ],
)
def test_a_damaged_line_of_version_2_is_refused(fields, text):
    """What does not fit together is no step."""
    record, _ = a_second_step(subspaces=2)
    with pytest.raises(RunError, match=rf"history line 1: .*{text}"):
        read_history([changed(record, **fields)])


def test_a_run_keeps_one_recipe():
    """Weights that were masters cannot go on as rounded ones: the line where that happens is named."""
    first, _ = a_second_step(recipe=WeightRecipe(scope="linear"))
    with pytest.raises(RunError, match=r"line 2: expected weights kept as before, scope linear.*, got scope full"):
        read_history([first.to_line(), changed(first, step=1, scope="full")])


def test_an_update_names_the_subspace_of_each_direction():
    """Subspaces stand per member in the record and per direction in the update."""
    record, _ = a_second_step(subspaces=2, antithetic=True)
    assert record.subspaces == (0, 0, 1, 1, 0, 0, 1, 1)
    assert (record.update.partition, record.update.subspaces) == (Partition(2), (0, 1, 0, 1))

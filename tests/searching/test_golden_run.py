from pathlib import Path

import pytest

from coevo.searching.loop import evolve

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("es", ["dense", "off"])
def test_a_run_is_the_golden_one_byte_for_byte(harness, es):
    """With the clock held, a search's event log is exactly the stored one: nothing in it depends on chance or time.

    A deliberate change of the recipe or the log's form is followed by writing the file anew, once, and saying so.
    """
    run = harness(budget=140, seed=5, es=es)
    evolve(run.search)
    assert run.directory.events.read_bytes() == (GOLDEN / f"run_{es}.jsonl").read_bytes()


def test_the_golden_history_is_the_golden_one(harness):
    """So is the ES history of the run with ES."""
    run = harness(budget=140, seed=5)
    evolve(run.search)
    assert run.directory.history.read_bytes() == (GOLDEN / "run_dense_history.jsonl").read_bytes()

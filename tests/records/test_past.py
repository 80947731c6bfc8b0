import pytest

from coevo.candidate import Evaluation
from coevo.errors import RunError
from coevo.interfaces import Completion
from coevo.records.past import completions, verdicts

COMPLETION = {"kind": "completion", "id": "1.m1.0", "text": "t", "finish": "stop", "tokens": 3}
VERDICT = {
    "kind": "verdict", "candidate": "c", "split": "search", "status": "ok", "detail": "", "cost": -2.0,
    "objective": 2.0, "clock": {"time": 1.0, "cpu_s": 0.5},
}  # fmt: skip


def test_the_past_is_read_back():
    """Completions come by request, verdicts by candidate and split; other events are passed over."""
    events = [{"kind": "started"}, COMPLETION, VERDICT]
    assert completions(events) == {"1.m1.0": Completion("1.m1.0", "t", "stop", 3)}
    assert verdicts(events) == {("c", "search"): Evaluation("ok", "", -2.0, 2.0, cpu_s=0.5)}


@pytest.mark.parametrize(
    "change",
    [{"clock": None}, {"status": "bogus"}, {"cost": "abc"}, {"cost": None}, {"status": "crash"}, {"detail": ...}],
)
def test_an_edited_verdict_is_refused(change):
    """A verdict that this version could not have written names itself."""
    edited = {key: value for key, value in (VERDICT | change).items() if value is not ...}
    with pytest.raises(RunError, match="expected a verdict event"):
        verdicts([edited])


@pytest.mark.parametrize("missing", ["id", "text", "finish", "tokens"])
def test_an_edited_completion_is_refused(missing):
    """So does a completion that lacks a field."""
    with pytest.raises(RunError, match="expected a completion event"):
        completions([{key: value for key, value in COMPLETION.items() if key != missing}])

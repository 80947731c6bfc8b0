import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.reporting.live.pace import Pace

GAPS = st.lists(st.floats(0.01, 1e4), min_size=1, max_size=300)


def child(time):
    """A candidate that was judged at a time."""
    return {"kind": "child", "clock": {"time": time}}


@given(gaps=GAPS)
def test_rates_add_up_to_what_was_done(gaps):
    """Mean rate times time is the number of candidates, however long the run and however often spans were joined."""
    pace, now = Pace(), 1000.0
    pace.take({"kind": "started", "clock": {"time": now}})
    for gap in gaps:
        now += gap
        pace.take(child(now))
    figure = pace.figures()[0]
    mean = float(figure.caption.split("open. ")[1].split(" per minute")[0])
    assert mean == pytest.approx(len(gaps) / sum(gaps) * 60, rel=6e-3)
    assert len(figure.table.rows) <= 120
    assert figure.table.rows[-1][0].value * 60 <= sum(gaps) * (1 + 1e-9)


def test_an_even_pace_is_a_flat_curve():
    """Two candidates a second are 120 a minute in every whole span, also after spans were joined."""
    pace = Pace()
    pace.take({"kind": "started", "clock": {"time": 0.0}})
    for place in range(1, 1200):
        pace.take(child(place / 2))
    rates = [row[1].value for row in pace.figures()[0].table.rows][:-1]
    assert rates[1:] == pytest.approx([120.0] * (len(rates) - 1))


def test_pauses_and_tokens():
    """The time before a resume does not count; tokens are told per second."""
    pace = Pace()
    pace.take({"kind": "started", "clock": {"time": 10.0}})
    pace.take({"kind": "completion", "tokens": 30, "clock": {"time": 20.0}})
    pace.take({"kind": "resumed", "clock": {"time": 5000.0}})
    pace.take({"kind": "completion", "tokens": 30, "clock": {"time": 5020.0}})
    (figure,) = pace.figures()
    assert figure.key == "pace-tokens"
    assert "2 per second on average" in figure.caption


def test_nothing_is_said_before_there_is_something():
    """Without time between events there is no rate."""
    pace = Pace()
    assert pace.figures() == []
    pace.take(child(5.0))
    assert pace.figures() == []

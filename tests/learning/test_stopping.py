from coevo.learning.stopping import Limits, StopRule


def rule(past=(), clock=None, **limits):
    """A stop rule whose clock stands still unless one is given."""
    return StopRule(Limits(**limits), clock or (lambda: 0.0), past)


def test_a_target_stops_at_its_cost():
    """A target is reached from above: costs are minimised."""
    assert [rule(target=5.0).reached(1, cost) for cost in (5.1, 5.0)] == [None, "target"]


def test_patience_counts_generations_without_progress():
    """Progress resets the count."""
    stop = rule(patience=2)
    assert [stop.reached(n, cost) for n, cost in enumerate([9.0, 9.0, 8.0, 8.0, 8.0], 1)] == [None] * 4 + ["patience"]


def test_time_is_checked_after_a_generation():
    """The first generation that ends past the limit is the last."""
    times = iter([0.0, 3599.0, 3600.0])
    stop = rule(max_hours=1.0, clock=lambda: next(times))
    assert [stop.reached(n, 9.0) for n in (1, 2)] == [None, "time"]


def test_what_was_decided_stays_decided():
    """A resumed run stops, or goes on, where its log says so, whatever its clock says now."""
    past = [
        {"kind": "generation", "generation": 1, "stop": None},
        {"kind": "generation", "generation": 2, "stop": "time"},
    ]
    stop = rule(past, max_hours=1e-9, clock=iter(range(10)).__next__)
    assert [stop.reached(n, 9.0) for n in (1, 2)] == [None, "time"]


def test_a_run_that_begins_at_its_target_need_not_begin():
    """Time alone never says so: a run that is resumed would have to say the same."""
    assert [rule(target=5.0).begun(cost) for cost in (5.1, 5.0)] == [None, "target"]
    assert rule(max_hours=1e-9, clock=iter(range(10)).__next__).begun(9.0) is None


def test_progress_is_counted_from_what_a_run_begins_with():
    """Generations that are no better than the beginning are without progress, the first one too."""
    stop = rule(patience=2)
    assert stop.begun(8.0) is None
    assert [stop.reached(n, 8.0) for n in (1, 2)] == [None, "patience"]

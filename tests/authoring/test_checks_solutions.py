import pytest

from coevo.authoring.isolated import Isolated

OBJECTIVE = "_first = objective\n\n\ndef objective(instance, solution):\n"
NUMBA = """
from numba import config, njit


@njit(cache=True)
def total(values):
    result = 0.0
    for value in values:
        result += value
    return result
"""


def test_the_scaffolds_objective_is_fine(scaffold, found):
    """Pure, strict, and it charges for what is worse; there is nothing compiled."""
    assert [found(scaffold, check).status for check in ("pure", "refusals", "worse")] == ["ok"] * 3
    with Isolated(scaffold.path, 60.0) as worker:
        # In a process of its own: in this one, other tests have loaded Numba.
        assert worker.ask("compiled").status == "skipped"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("    COUNT.append(1)\n    return float(len(COUNT))", "objective gives 1.0 and then 2.0 for the same"),
        (
            "    solution[:] = solution[::-1].copy()\n    return _first(instance, solution)",
            "objective changes the instance",
        ),
        ("    instance.data['values'][0] *= 2\n    return 1.0", "objective changes the instance"),
    ],
)
def test_an_impure_objective_fails(variant, found, body, words):
    """It counts, or it writes into what it was given."""
    finding = found(variant(code=f"COUNT = []\n{OBJECTIVE}{body}"), "pure")
    assert finding.status == "failed"
    assert words in finding.text


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        ("solution.dtype.kind not in 'iu' or solution.ndim != 1 or (solution >= 40).any()", "filled with -1 is priced"),
        ("solution.ndim != 1 or (solution >= 40).any() or (solution < 0).any()", "filled with NaN is priced"),
        ("solution.dtype.kind not in 'iu' or (solution < 0).any()", "with one more dimension is priced"),
        ("solution.dtype.kind not in 'iu' or solution.ndim != 1 or (solution < 0).any()", "filled with 461168601"),
    ],
)
def test_an_objective_that_checks_too_little_fails(variant, found, refused, words):
    """A check that is left out is found by the solution that it should have refused."""
    code = f"def objective(instance, solution):\n    if {refused}:\n        raise Infeasible('no solution')\n"
    finding = found(variant(code=f"{code}    return float(np.size(solution))"), "refusals")
    assert finding.status == "failed"
    assert words in finding.text


def test_an_objective_that_trips_is_noted(variant, found):
    """What is refused by accident counts as invalid, but its message helps nobody."""
    code = f"{OBJECTIVE}    return sum(dict(enumerate(instance.data['values']))[int(n)] for n in solution)"
    finding = found(variant(code=code), "refusals")
    assert finding.status == "note"
    assert "a solution filled with NaN ends in ValueError" in finding.text


def test_an_empty_solution_that_pays_fails(variant, found):
    """Where nothing at all is as good as the baseline, something is wrong with the sense or the objective."""
    finding = found(variant(("problem.toml", 'sense = "max"', 'sense = "min"')), "refusals")
    assert finding.status == "failed"
    assert "an empty solution costs no more than the baseline's" in finding.text


@pytest.mark.parametrize(
    "body", ["    _first(instance, solution)\n    return 1.0", "    return float(len(solution) == 0) - 1"]
)
def test_an_objective_that_does_not_look_fails(variant, found, body):
    """If no random change ever costs more, the objective is a constant, or its sense is wrong."""
    finding = found(variant(code=OBJECTIVE + body), "worse")
    assert finding.status == "failed"
    assert "is `sense` right" in finding.text


def test_a_solution_that_nothing_may_be_changed_about_is_noted(variant, found):
    """If no random change is feasible, nothing can be said."""
    code = "_first, KNOWN = objective, {}\n\n\ndef objective(instance, solution):\n"
    code += "    if KNOWN.setdefault(instance.name, solution.tobytes()) != solution.tobytes():\n"
    code += "        raise Infeasible('another one')\n    return _first(instance, solution)"
    assert found(variant(code=code), "worse").status == "note"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factor", "status", "words"),
    [
        ("1.0", "ok", "bit for bit"),
        ("(1.0 if config.DISABLE_JIT else 1 + 2**-52)", "failed", "compiled and plain differ on"),
        ("(1 / 0 if config.DISABLE_JIT else 1.0)", "failed", "ZeroDivisionError"),
    ],
)
def test_compiled_code_is_compared_with_plain_python(variant, found, factor, status, words):
    """Equal to the last bit, or it fails; a failure of the plain code is one too."""
    code = f"{NUMBA}\n\n_first = objective\n\n\ndef objective(instance, solution):\n"
    code += f"    _first(instance, solution)\n    return float(total(instance.data['values'][solution]) * {factor})"
    finding = found(variant(code=code), "compiled")
    assert finding.status == status, finding.text
    assert words in finding.text

import pytest

AGAIN = "_first, CALLS = instances, []\n\n\ndef instances(split):\n    CALLS.append(split)\n"


def test_the_scaffolds_instances_are_fine(scaffold, found):
    """Module, instances, their reproduction and the baseline hold."""
    for check in ("module", "instances", "reproducible", "solving"):
        assert found(scaffold, check).status == "ok"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("draw = 3", "something else called draw"),
        ("1 / 0", "fails on import: ZeroDivisionError"),
        ("del solve", "missing: solve"),
    ],
)
def test_a_module_that_is_no_problem_fails(variant, found, code, words):
    """What is wrong with `problem.py` is said on one line."""
    finding = found(variant(code=code), "module")
    assert finding.status == "failed"
    assert words in finding.text


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def instances(split): return []", "the split search has no instance"),
        ("def instances(split): return [1]", "TypeError: expected an Instance, got int"),
        ("def instances(split): return [Instance('a', 1, {'x': 'text'})]", "expected numbers or numeric arrays"),
        ("def instances(split): return [Instance('a', 1.5, {'x': 1})]", "expected a seed from 0 up as an int"),
        ("def instances(split): return [Instance('a', -1, {'x': 1})]", "expected a seed from 0 up as an int"),
        ("def instances(split): return [Instance('a', n, {'x': n}) for n in (1, 2)]", "two instances called a"),
        (
            "def instances(split): return [Instance(split, 1, {'x': len(split)})]",
            "search and val have the same seed",
        ),
        (
            "def instances(split): return [Instance(split, hash(split) % 999983, {'x': 1})]",
            "search and val have the same data",
        ),
        ("def instances(split): raise KeyError(split)", "KeyError: 'search' (problem.py, line"),
    ],
)
def test_instances_that_break_the_contract_fail(variant, found, code, words):
    """No instance, no plain numbers, a name, a seed or data twice, and an exception are each named."""
    finding = found(variant(code=code), "instances")
    assert finding.status == "failed"
    assert words in finding.text


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            f"{AGAIN}    made = _first(split)\n"
            "    return [Instance(i.name, i.seed + 10**6 * len(CALLS), i.data) for i in made]",
            "differ the second time",
        ),
        (
            "_first = instances\n\n\ndef instances(split):\n"
            "    return [Instance(i.name, hash(i.name) % 2**40, i.data) for i in _first(split)]",
            "differ in another process",
        ),
        (
            "import os\n_first = instances\n\n\ndef instances(split):\n"
            "    return _first(split) if os.environ.get('PYTHONHASHSEED') != '7' else [][0]",
            "IndexError",
        ),
    ],
)
def test_instances_that_depend_on_the_process_fail(variant, found, code, words):
    """A counter, the hash seed, or a failure elsewhere."""
    finding = found(variant(code=code), "reproducible")
    assert finding.status == "failed"
    assert words in finding.text


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def solve(heuristic, instance): return np.array(['text'])", "solve gives an array of <U4"),
        ("def solve(heuristic, instance): return [[1, 2], [3]]", "ValueError"),
        (
            "def solve(heuristic, instance): return np.random.default_rng().random(3)",
            "another solution the second time",
        ),
        ("def objective(instance, solution): return float('nan')", "expected a finite number from objective"),
        ("def objective(instance, solution): return 'cheap'", "expected a finite number from objective"),
        ("def objective(instance, solution): return True", "expected a finite number from objective"),
        ("def objective(instance, solution): raise Infeasible('never')", "Infeasible: never"),
        ("import sys\ndef solve(heuristic, instance): sys.exit(3)", "SystemExit: 3"),
    ],
)
def test_a_baseline_that_does_not_solve_fails(variant, found, code, words):
    """No numbers, no determinism, no finite objective, no feasibility, no return."""
    finding = found(variant(code=code), "solving")
    assert finding.status == "failed"
    assert words in finding.text


def test_what_draws_from_the_global_generators_is_the_same_each_time(variant, found):
    """They start from the instance's seed, as in the sandbox."""
    code = "import numpy as np\ndef choose_job(a, b, c):\n    return np.random.choice(np.flatnonzero(b <= a))\n"
    assert found(variant(baseline=code), "solving").status == "ok"

"""Admissible sets: published anchors, the greedy against plain versions, the definition, and what is refused."""

from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coevo.candidate import Candidate
from coevo.content import find_problem, load_module
from coevo.errors import ConfigError, Infeasible
from coevo.evolution.renderers import unreadable

SMALL = ((3, 0), (3, 1), (3, 2), (3, 3), (6, 1), (6, 4), (6, 5), (9, 5), (9, 6))


@pytest.fixture(scope="module")
def asp():
    """The problem: `folder`, `problem` (its module), `baselines` (functions by name)."""
    folder = find_problem("asp")
    files = sorted((folder.path / "baselines").glob("*.py"))
    baselines = {file.stem: load_module(file).priority for file in files}
    problem = folder.load()
    # Compiled here, because compiling within an example would look like a slow one to Hypothesis.
    problem.objective(problem.make_instance(3, 2), np.zeros(2))
    problem.is_admissible(np.zeros((0, 3), dtype=np.int8))
    return SimpleNamespace(folder=folder, problem=problem, baselines=baselines, greedy=problem.greedy)


@pytest.fixture(scope="module")
def plain():
    """The plain versions: loops and NumPy."""
    return load_module(Path(__file__).parents[1] / "benchmarks" / "plain_asp.py")


def is_admissible_by_sets(vectors):
    """The definition, word by word."""
    supports = {tuple(entry > 0 for entry in vector) for vector in vectors}
    if len(supports) != len(vectors) or len({sum(support) for support in supports}) > 1:
        return False
    good = ([0, 1, 2], [0, 0, 1], [0, 0, 2])
    return all(any(sorted(entries) in good for entries in zip(*each, strict=True)) for each in combinations(vectors, 3))


@pytest.mark.parametrize(
    ("split", "children", "constant"), [("12-7", 448, 690), ("search", 2432, 1842), ("21-15", 68768, 9647)]
)
def test_a_constant_priority_has_its_published_size(asp, split, children, constant):
    """The anchors, exactly, and the number of calls."""
    (instance,) = asp.problem.instances(split)
    scores = asp.problem.solve(asp.baselines["constant"], instance)
    assert scores.tolist() == [0.0] * children
    assert asp.problem.objective(instance, scores) == constant


@pytest.mark.parametrize(("split", "best"), [("12-7", 792), ("search", 3003), ("21-15", 43596), ("24-17", 237984)])
def test_best_known_sizes_are_those_in_print(asp, split, best):
    """FunSearch, Nature 2024."""
    assert asp.problem.reference(split).tolist() == [best]


def test_instances_are_the_vectors_in_order(asp, plain):
    """Every vector of the right length and weight whose groups are one of the seven triples, in lexicographic order."""
    for n, w in [*SMALL, (12, 7)]:
        instance = asp.problem.make_instance(n, w)
        expected = [plain.entries(child) for child in plain.children(n, w)]
        assert [tuple(vector) for vector in instance.data["vectors"].tolist()] == expected
        assert (instance.name, instance.seed) == (f"{n}-{w}", 100 * n + w)
        assert instance.data["vectors"].dtype == np.int8
        assert not instance.data["vectors"].flags.writeable


def test_unknown_split_names_the_known_ones(asp):
    """The message lists what could have been meant."""
    for function in (asp.problem.instances, asp.problem.reference):
        with pytest.raises(ConfigError, match=r"search, 12-7, 21-15, 24-17.*got 'val'"):
            function("val")


def test_the_list_of_bad_triples_follows_from_the_definition(asp, plain):
    """Three symbols are bad if rotations of theirs leave no position with {0, 1, 2}, {0, 0, 1} or {0, 0, 2}."""
    assert {"".join(map(str, sorted(each))) for each in plain.BAD} == set(asp.greedy.BAD.split())
    for a, b, c in np.ndindex(7, 7, 7):
        assert bool(asp.greedy.BAD_TABLE[a, b] >> c & 1) == ((a, b, c) in plain.BAD)


@example(case=(9, 6), seed=0, levels=1)
@given(case=st.sampled_from(SMALL), seed=st.integers(0, 2**32 - 1), levels=st.sampled_from([1, 2, 5, 10**6]))
def test_the_kernel_chooses_as_plain_loops_do(asp, plain, case, seed, levels):
    """The same vectors in the same order, for random scores with many ties or none, and as the NumPy version does."""
    children = plain.children(*case)
    scores = np.random.default_rng(seed).integers(-levels, levels, len(children)).astype(float)
    chosen = asp.greedy.choose_greedily(np.array(children, dtype=np.int8), scores).tolist()
    assert chosen == plain.choose_with_loops(children, scores.tolist())
    assert chosen == plain.choose_with_numpy(children, scores.tolist())
    instance = asp.problem.make_instance(*case)
    assert asp.problem.objective(instance, scores) == plain.size([children[row] for row in chosen])


@pytest.mark.parametrize(("case", "seed", "levels"), [((12, 7), 1, 3), ((12, 7), 2, 10**6), ((15, 10), 3, 40)])
def test_the_kernel_chooses_as_plain_versions_do_on_larger_instances(asp, plain, case, seed, levels):
    """Two instances of the splits; loops take seconds on the larger one, so there the NumPy version answers."""
    children = plain.children(*case)
    scores = np.random.default_rng(seed).integers(0, levels, len(children)).astype(float)
    oracle = plain.choose_with_loops if case == (12, 7) else plain.choose_with_numpy
    chosen = asp.greedy.choose_greedily(np.array(children, dtype=np.int8), scores)
    assert chosen.tolist() == oracle(children, scores.tolist())


def test_the_kernel_is_its_python_function(asp, plain, monkeypatch):
    """Compiled and interpreted, the same rows, with every helper interpreted too."""
    symbols = np.array(plain.children(9, 6), dtype=np.int8)
    order = np.random.default_rng(0).permutation(len(symbols))
    table, same = asp.greedy.BAD_TABLE, asp.greedy._SAME_WEIGHT
    compiled = asp.greedy.choose_in_order(symbols, order, table, same).tolist()
    for name in ("_level_starts", "_leaf", "_count_prefixes", "_cross_off"):
        monkeypatch.setattr(asp.greedy, name, getattr(asp.greedy, name).py_func)
    assert asp.greedy.choose_in_order.py_func(symbols, order, table, same).tolist() == compiled


@given(st.sampled_from([(6, 4), (6, 5), (9, 6)]), st.integers(0, 2**32 - 1))
def test_any_scores_give_an_admissible_set(asp, case, seed):
    """Expanded, the set has the size that the objective says, no duplicate, and meets the definition."""
    instance = asp.problem.make_instance(*case)
    scores = np.random.default_rng(seed).random(len(instance.data["vectors"]))
    _, chosen = asp.problem._choose(instance, scores)
    vectors = asp.problem.expand(instance.data["vectors"][chosen])
    assert len(vectors) == len({tuple(vector) for vector in vectors.tolist()})
    assert len(vectors) == asp.problem.objective(instance, scores)
    assert np.all((vectors > 0).sum(axis=1) == case[1])
    assert asp.problem.is_admissible(vectors)


@pytest.mark.parametrize("name", ["constant", "mixed_triples", "equal_shares"])
def test_sets_of_690_vectors_and_more_are_admissible(asp, name):
    """Every triple of the sets that the baselines build at (12, 7)."""
    (instance,) = asp.problem.instances("12-7")
    scores = asp.problem.solve(asp.baselines[name], instance)
    vectors = asp.problem.expand(instance.data["vectors"][asp.problem._choose(instance, scores)[1]])
    assert len(vectors) == asp.problem.objective(instance, scores) >= 690
    assert asp.problem.is_admissible(vectors)


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), max_size=5, unique_by=tuple))
def test_the_checker_is_the_definition(asp, rows):
    """Compiled and word by word, on small sets that are mostly not admissible."""
    assert asp.problem.is_admissible(np.array(rows, dtype=np.int8).reshape(-1, 3)) == is_admissible_by_sets(rows)


@given(st.sampled_from([(3, 2), (6, 4), (6, 5), (9, 5)]), st.integers(0, 2**32 - 1), st.integers(0, 4))
def test_the_check_of_orbits_is_the_check_of_vectors(asp, plain, case, seed, count):
    """Some orbits make an admissible set exactly if their rotations do."""
    children = np.array(plain.children(*case), dtype=np.int8)
    orbits = children[np.random.default_rng(seed).permutation(len(children))[:count]]
    vectors = np.array([plain.entries(row) for row in orbits.tolist()], dtype=np.int8).reshape(len(orbits), case[0])
    check = asp.problem.is_symmetric_admissible(orbits, asp.greedy.WEIGHTS, asp.greedy.BAD_TABLE)
    assert check == asp.problem.is_admissible(asp.problem.expand(vectors))


def test_solve_calls_the_heuristic_as_described(asp):
    """Once per vector in order, with a tuple of Python integers, n and w."""
    calls = []

    def first_entries(el, n, w):
        calls.append((el, n, w))
        assert {type(entry) for entry in el} | {type(n), type(w)} == {int}
        return 100 * el[0] + 10 * el[1] + el[2]

    scores = asp.problem.solve(first_entries, asp.problem.make_instance(3, 2))
    assert calls == [((0, 1, 2), 3, 2), ((0, 2, 1), 3, 2)]
    assert (scores.tolist(), scores.dtype) == ([12.0, 21.0], np.float64)


@pytest.mark.parametrize(
    "value", [3, 3.0, np.float32(3), np.int8(3), np.array(3), np.array([3.0]), np.array([[3]], dtype=np.uint8)]
)
def test_solve_takes_any_real_number_for_a_score(asp, value):
    """Python and NumPy numbers, and arrays of size 1."""
    assert asp.problem.solve(lambda el, n, w: value, asp.problem.make_instance(3, 2)).tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    "value",
    [
        None, "3", True, np.True_, 3j, np.complex128(3), [3], (3,), {}, 10**400, np.datetime64(0, "s"),
        np.array([1, 2]), np.array([]), np.array(["3"]), np.array([None]), np.array([True]), np.array([3j]),
    ],
)  # fmt: skip
def test_solve_refuses_what_is_no_real_number(asp, value):
    """Also whole numbers beyond the range of floats."""
    with pytest.raises(TypeError, match="expected priority to return a number, got "):
        asp.problem.solve(lambda el, n, w: value, asp.problem.make_instance(3, 2))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_is_refused(asp, value):
    """In the published evaluator NaN would win."""
    instance = asp.problem.make_instance(3, 2)
    scores = asp.problem.solve(lambda el, n, w: value if el[1] == 2 else 0.0, instance)
    with pytest.raises(Infeasible, match=f"the score of vector 1, 021, is {value}"):
        asp.problem.objective(instance, scores)


@pytest.mark.parametrize(
    "scores",
    [
        np.zeros(1),
        np.zeros(3),
        np.zeros((2, 1)),
        np.array(0.0),
        np.zeros(2, dtype=np.float32),
        np.zeros(2, dtype=int),
        np.zeros(2, dtype=bool),
        np.zeros(2, dtype=complex),
        np.array(["0", "0"]),
    ],
)
def test_objective_refuses_what_are_no_scores(asp, scores):
    """Wrong shape or type."""
    with pytest.raises(Infeasible, match="expected 2 float64 scores, got "):
        asp.problem.objective(asp.problem.make_instance(3, 2), scores)


def test_two_signs_of_zero_are_a_tie(asp):
    """The first of equals wins, and −0.0 equals 0.0."""
    instance = asp.problem.make_instance(3, 2)
    assert asp.problem._choose(instance, np.array([-0.0, 0.0]))[1].tolist() == [0]
    assert asp.problem._choose(instance, np.array([0.0, 5e-324]))[1].tolist() == [1]


def test_baselines_can_be_parents_of_the_embedded_model(asp):
    """The slot codec can show each of them."""
    for name, code in asp.folder.baselines().items():
        assert unreadable(asp.folder, Candidate(code)) == "", name


def test_drawing_shows_the_chosen_vectors(asp):
    """Two shades, one cell per entry that is not 0, and the size in the title."""
    (instance,) = asp.problem.instances("12-7")
    scores = np.zeros(448)
    root = ElementTree.fromstring(asp.problem.draw(instance, scores))
    assert root[0].text == "12-7: 36 orbits, 690 vectors"
    chosen = instance.data["vectors"][asp.problem._choose(instance, scores)[1]]
    assert [layer.get("d").count("M") for layer in root[1:]] == [(chosen == 1).sum(), (chosen == 2).sum()]
    with pytest.raises(Infeasible):
        asp.problem.draw(instance, scores[1:])


@pytest.mark.slow
def test_the_search_instance_gives_an_admissible_set(asp):
    """Every triple of the 1,842 vectors of the constant priority at (15, 10)."""
    (instance,) = asp.problem.instances("search")
    vectors = asp.problem.expand(instance.data["vectors"][asp.problem._choose(instance, np.zeros(2432))[1]])
    assert len(vectors) == 1842
    assert asp.problem.is_admissible(vectors)

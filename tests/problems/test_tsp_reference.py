"""Shortest tours of the TSP splits: what is stored, what bounds it, and the program that computed it."""

from itertools import permutations

import numpy as np
import pytest

from coevo.content import load_module
from coevo.problemkit.tours import check_tour, distance_matrix, tour_length

SPLITS = ("search", "val", "test20", "test50", "test100")


def held_karp(distances):
    """Length of a shortest tour by dynamic programming over subsets, a textbook's O(2ⁿ·n²)."""
    size = len(distances) - 1
    ways, home = distances[1:, 1:], distances[0, 1:]
    subsets = np.arange(1 << size)
    counts = sum((subsets >> node) & 1 for node in range(size))
    best = np.full((1 << size, size), np.inf)
    best[1 << np.arange(size), np.arange(size)] = home
    for count in range(2, size + 1):
        for node in range(size):
            reached = subsets[(counts == count) & ((subsets >> node) & 1 == 1)]
            best[reached, node] = (best[reached ^ (1 << node)] + ways[:, node]).min(axis=1)
    return float((best[-1] + home).min())


def slow_farthest_insertion(distances):
    """Farthest insertion as the textbook words it, in plain Python."""
    matrix = distances.tolist()
    nodes = range(len(matrix))
    tour = list(max(((a, b) for a in nodes for b in nodes), key=lambda pair: matrix[pair[0]][pair[1]]))
    while len(tour) < len(matrix):
        node = max(set(nodes) - set(tour), key=lambda n: min(matrix[n][t] for t in tour))
        pairs = list(zip(tour, tour[1:] + tour[:1], strict=True))
        detours = [matrix[a][node] + matrix[node][b] - matrix[a][b] for a, b in pairs]
        tour.insert(detours.index(min(detours)) + 1, node)
    return tour


@pytest.mark.parametrize("split", SPLITS)
def test_reference_is_one_length_per_instance(loaded, split):
    """float64, finite, positive, in instance order."""
    reference = loaded.problem.reference(split)
    assert reference.dtype == np.float64
    assert reference.shape == (len(loaded.instances[split]),)
    assert np.all(np.isfinite(reference) & (reference > 0))


@pytest.mark.parametrize(("split", "mean"), [("test20", "3.8199"), ("test50", "5.675"), ("test100", "7.768")])
def test_reference_has_the_published_mean_optimum(loaded, split, mean):
    """To the last digit printed: Agentic-ESOpt's table (20 nodes), MCTS-AHD's solutions by LKH (50 and 100 nodes)."""
    decimals = len(mean.partition(".")[2])
    assert f"{loaded.problem.reference(split).mean():.{decimals}f}" == mean


@pytest.mark.parametrize("split", SPLITS)
def test_no_heuristic_beats_the_reference_on_any_instance(loaded, objectives, split):
    """A shortest tour is not longer than nearest neighbour's or farthest insertion's, instance by instance."""
    reference = loaded.problem.reference(split)
    insertion = loaded.problem.classics()["farthest insertion"]
    inserted = [loaded.problem.objective(instance, insertion(instance)) for instance in loaded.instances[split]]
    assert np.all(reference <= np.array(inserted) + 1e-9)
    assert np.all(reference <= np.array(objectives(loaded.baselines["nearest_neighbour"], split)) + 1e-9)


@pytest.mark.parametrize("split", SPLITS)
def test_reference_is_not_below_a_lower_bound(loaded, split):
    """Half the sum of each node's two shortest edges bounds every tour from below."""
    nearest = [
        np.sort(instance.data["distance_matrix"], axis=1)[:, 1:3].sum() / 2 for instance in loaded.instances[split]
    ]
    assert np.all(loaded.problem.reference(split) >= nearest)


@pytest.mark.slow
def test_reference_agrees_with_dynamic_programming(loaded):
    """The first instance of test20, whose linear relaxation is below its optimum, solved again from scratch."""
    length = held_karp(loaded.instances["test20"][0].data["distance_matrix"])
    assert loaded.problem.reference("test20")[0] == pytest.approx(length, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_dynamic_programming_agrees_with_enumeration(seed):
    """The oracle of the test above, on instances small enough to try every tour."""
    distances = distance_matrix(np.random.default_rng(seed).random((7, 2)))
    lengths = [tour_length(distances, np.array([0, *rest])) for rest in permutations(range(1, 7))]
    assert held_karp(distances) == pytest.approx(min(lengths), abs=1e-12)


@pytest.mark.parametrize("index", range(8))
def test_farthest_insertion_agrees_with_a_plain_version(loaded, index):
    """The same tour, node by node."""
    insertion = loaded.problem.classics()["farthest insertion"]
    for split in ("search", "test20"):
        instance = loaded.instances[split][index]
        assert insertion(instance).tolist() == slow_farthest_insertion(instance.data["distance_matrix"])


@pytest.mark.parametrize("far", [0.0, 1.0])
@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_farthest_insertion_of_few_nodes_is_a_tour(loaded, size, far):
    """The smallest instances have no node to insert, or one place for it; and all nodes may be in one place."""
    points = far * np.array([[0.0, 0.0], [0.0, 3.0], [4.0, 3.0]])[:size]
    farthest_insertion = load_module(loaded.folder.path / "insertion.py").farthest_insertion
    assert sorted(check_tour(farthest_insertion(distance_matrix(points)), size)) == list(range(size))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("seed", range(6))
def test_branch_and_cut_agrees_with_dynamic_programming(loaded, seed):
    """On small instances, started from a bad tour, it finds a shortest one and says that it is proven."""
    pytest.importorskip("ortools", reason="OR-Tools is not installed; it only recomputes the stored optima")
    prove = load_module(loaded.folder.path / "optima" / "branch_and_cut.py").prove
    distances = distance_matrix(np.random.default_rng(seed).random((14, 2)))
    proof = prove(distances, np.arange(14))
    assert proof.complete
    assert proof.length == pytest.approx(held_karp(distances), abs=1e-9)
    assert tour_length(distances, check_tour(proof.tour, 14)) == pytest.approx(proof.length, abs=1e-12)
    assert proof.root_bound <= proof.length + 1e-9

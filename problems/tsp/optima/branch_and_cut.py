"""Exact symmetric TSP for up to about 100 nodes: branch and cut on the degree relaxation.

The relaxation (Dantzig, Fulkerson and Johnson 1954) is solved by GLOP and tightened by subtour cuts, separated exactly
by the minimum cut of Stoer and Wagner (1997), and by blossom cuts, separated by the heuristic of Padberg and Hong
(1980). Reduced costs at the root remove every edge that no tour shorter than the known one can use; the rest is
branched on, depth first. Bounds are floating point, so "optimal" means: no tour is shorter by more than `TOLERANCE`.

Needs OR-Tools, which coevo itself does not.
"""

import time
from dataclasses import dataclass

import numpy as np
from numba import njit
from ortools.linear_solver import pywraplp

TOLERANCE = 1e-7
"""Tour lengths closer than this count as equal; the unit square's shortest tours differ by far more."""

NEIGHBOURS = 8
"""Edges per node in the first relaxation; the others are priced in when they could help."""

FIRST_GAP = 0.004
"""First guess of (optimum − root bound) / root bound."""

BRANCHING_CANDIDATES = 6
"""Edges of which both children are solved before one is branched on."""

BLOSSOM_ROUNDS = 25
"""Rounds in which blossom cuts are looked for at one node before it is branched on."""


@dataclass(frozen=True)
class Proof:
    """Outcome of a search: `tour` of `length` is optimal if `complete`; no tour is shorter than `root_bound`."""

    tour: np.ndarray
    length: float
    root_bound: float
    num_nodes: int
    complete: bool


class Relaxation:
    """Linear relaxation over a growing set of edges and cuts; every cut row reads Σ c_e·x_e ≥ rhs."""

    def __init__(self, distances, edges):
        self.distances = distances
        self.size = len(distances)
        self.solver = pywraplp.Solver.CreateSolver("GLOP")
        # Preprocessing would throw the last basis away; from it, the dual simplex needs few pivots after a new row.
        self.solver.SetSolverSpecificParametersAsString("use_preprocessing:false use_dual_simplex:true")
        self.objective = self.solver.Objective()
        self.degrees = [self.solver.Constraint(2, 2) for _ in range(self.size)]
        self.variables = {}
        self.rows = []
        self.known = set()
        for edge in edges:
            self.add_edge(edge)

    def add_edge(self, edge):
        """Add the variable of an edge (a, b), a < b, to the objective and to every row."""
        variable = self.variables[edge] = self.solver.NumVar(0, 1, "")
        self.objective.SetCoefficient(variable, float(self.distances[edge]))
        for end in edge:
            self.degrees[end].SetCoefficient(variable, 1)
        for coefficients, _, row in self.rows:
            if coefficients[edge]:
                row.SetCoefficient(variable, float(coefficients[edge]))

    def add_cut(self, coefficients, rhs):
        """Add a row given by a symmetric (n, n) int8 matrix; return whether it is new."""
        key = coefficients.tobytes()
        if key in self.known:
            return False
        self.known.add(key)
        row = self.solver.Constraint(float(rhs), self.solver.infinity())
        for edge, variable in self.variables.items():
            if coefficients[edge]:
                row.SetCoefficient(variable, float(coefficients[edge]))
        self.rows.append((coefficients, rhs, row))
        return True

    def solve(self):
        """Return (bound, {edge: value} of the support), or (inf, {}) when infeasible."""
        status = self.solver.Solve()
        if status == pywraplp.Solver.INFEASIBLE:
            return np.inf, {}
        if status != pywraplp.Solver.OPTIMAL:
            raise RuntimeError(f"expected GLOP to finish, got status {status}")
        values = {edge: variable.solution_value() for edge, variable in self.variables.items()}
        return self.objective.Value(), {edge: value for edge, value in values.items() if value > 1e-7}

    def tighten(self, cutoff, num_rounds=BLOSSOM_ROUNDS):
        """Solve and cut until nothing is violated or the bound reaches `cutoff`; return as `solve` does."""
        while True:
            bound, support = self.solve()
            if bound >= cutoff:
                return np.inf, {}
            cuts = subtour_cuts(self.size, support)
            if num_rounds > 0:
                cuts += blossom_cuts(self.size, support)
            num_rounds -= 1
            if not sum([self.add_cut(*cut) for cut in cuts]):
                return bound, support

    def reduced_costs(self):
        """Reduced cost of every edge of the complete graph, shape (n, n), from the duals of the last solve."""
        duals = np.array([row.dual_value() for row in self.degrees])
        costs = self.distances - duals[:, None] - duals[None, :]
        for coefficients, _, row in self.rows:
            if (dual := row.dual_value()) != 0.0:
                costs = costs - dual * coefficients
        return costs


def prove(distances, tour, *, limit_s=np.inf):
    """Find a shortest tour and prove it, or stop after `limit_s` seconds of CPU time.

    The search first supposes that the optimum is within `FIRST_GAP` of the root bound: that leaves few edges, and a
    tour found so is a shortest one. If there is none, it supposes twice as much, and so on up to the given tour.

    Args:
        distances: Symmetric matrix, shape (n, n).
        tour: Any permutation of the nodes; how short it is matters little.
        limit_s: When to give up; the proof is then marked incomplete.
    """
    deadline = time.process_time() + limit_s
    best = np.asarray(tour)
    length = cycle_length(distances, best)
    root = Relaxation(distances, _first_edges(distances, best))
    bound = _price(root)
    gap, num_nodes, found, complete = FIRST_GAP * bound, 1, None, True
    while found is None and bound < length - TOLERANCE and complete:
        cutoff = min(length, bound + gap)
        found, nodes, complete = _search(root, cutoff, cutoff - bound, deadline)
        num_nodes, gap = num_nodes + nodes, 2 * gap
        if cutoff == length:
            break
    best = best if found is None else found
    return Proof(best, cycle_length(distances, best), bound, num_nodes, complete)


def _search(root, cutoff, gap, deadline):
    """Depth-first search for the shortest tour below `cutoff`: (tour or None, nodes, whether it ran to the end)."""
    relaxation, fixed = _shrink(root, gap)
    best, num_nodes, stack = None, 0, [fixed]
    while stack and time.process_time() < deadline:
        decisions = stack.pop()
        num_nodes += 1
        _bound_variables(relaxation, decisions)
        _, support = relaxation.tighten(cutoff - TOLERANCE)
        if not support:
            continue
        edge, first = _branch(relaxation, support)
        if edge is not None:
            stack += [decisions | {edge: 1 - first}, decisions | {edge: first}]
            continue
        best = _walk(relaxation.size, support)
        cutoff = cycle_length(root.distances, best)
    return best, num_nodes, not stack


def cycle_length(distances, tour):
    """Length of the closed tour."""
    return float(distances[tour, np.roll(tour, -1)].sum())


def subtour_cuts(size, support):
    """Rows x(δ(S)) ≥ 2 that the support violates: its components, else its cuts lighter than 2."""
    sets = components(size, support)
    if len(sets) == 1:
        weights = np.zeros((size, size))
        for (a, b), value in support.items():
            weights[a, b] = weights[b, a] = value
        sets = [np.flatnonzero(side) for side in _light_cuts(weights)]
    return [(_boundary(size, nodes), 2) for nodes in sets if 0 < len(nodes) < size]


def blossom_cuts(size, support):
    """Rows x(δ(H)∖F) + Σ_F (1 − x) ≥ 1, F odd, with handles H from the components of fractional edges."""
    cuts, seen = [], set()
    for threshold in (1e-6, 0.1, 0.2, 0.3):
        fractional = [edge for edge, value in support.items() if threshold < value < 1 - threshold]
        for handle in components(size, fractional):
            if 3 <= len(handle) <= size - 3 and (key := tuple(handle)) not in seen:
                seen.add(key)
                cuts += _blossom(size, support, handle)
    return cuts


def components(size, edges):
    """Node lists of the connected components of (range(size), edges)."""
    label = list(range(size))

    def root(node):
        while label[node] != node:
            label[node] = label[label[node]]
            node = label[node]
        return node

    for a, b in edges:
        label[root(a)] = root(b)
    groups = {}
    for node in range(size):
        groups.setdefault(root(node), []).append(node)
    return list(groups.values())


def _blossom(size, support, handle):
    coefficients = _boundary(size, handle)
    boundary = {edge: value for edge, value in support.items() if coefficients[edge]}
    teeth = {edge for edge, value in boundary.items() if value > 0.5}
    if len(teeth) % 2 == 0 and boundary:
        teeth ^= {min(boundary, key=lambda edge: abs(boundary[edge] - 0.5))}
    slack = sum(1 - value if edge in teeth else value for edge, value in boundary.items())
    if len(teeth) % 2 == 0 or slack > 1 - 1e-4:
        return []
    for a, b in teeth:
        coefficients[a, b] = coefficients[b, a] = -1
    return [(coefficients, 1 - len(teeth))]


def _boundary(size, nodes):
    inside = np.zeros(size, dtype=bool)
    inside[nodes] = True
    return (inside[:, None] != inside[None, :]).astype(np.int8)


@njit
def _light_cuts(weights):
    """Every cut-of-the-phase of Stoer and Wagner with weight below 2, as rows of a bool array (cuts, n)."""
    size = len(weights)
    weights = weights.copy()
    merged = np.eye(size, dtype=np.bool_)
    alive = np.ones(size, dtype=np.bool_)
    found = np.zeros((size, size), dtype=np.bool_)
    count = 0
    for phase in range(size - 1):
        waiting = alive.copy()
        key = np.zeros(size)
        before, last, cut = -1, -1, 0.0
        for _ in range(size - phase):
            chosen = -1
            for node in range(size):
                if waiting[node] and (chosen < 0 or key[node] > key[chosen]):
                    chosen = node
            before, last, cut = last, chosen, key[chosen]
            waiting[chosen] = False
            key += weights[chosen]
        if cut < 2 - 1e-6:
            found[count] = merged[last]
            count += 1
        merged[before] |= merged[last]
        weights[before] += weights[last]
        weights[:, before] = weights[before]
        weights[before, before] = 0.0
        weights[last] = 0.0
        weights[:, last] = 0.0
        alive[last] = False
    return found[:count]


def _first_edges(distances, tour):
    near = np.argsort(distances, axis=1)[:, 1 : NEIGHBOURS + 1]
    pairs = [(a, b) for a, row in enumerate(near) for b in row] + list(zip(tour, np.roll(tour, -1), strict=True))
    return sorted({(min(int(a), int(b)), max(int(a), int(b))) for a, b in pairs})


def _price(root):
    """Tighten the root over all edges of the complete graph; return its bound."""
    while True:
        bound, _ = root.tighten(np.inf, num_rounds=60)
        costs = root.reduced_costs()
        missing = [edge for edge in _pairs(costs < -1e-9) if edge not in root.variables]
        if not missing:
            return bound
        for edge in missing:
            root.add_edge(edge)


def _shrink(root, gap):
    """The root without the edges that cost more than `gap`, and {edge: 1} for those that cost it to leave out."""
    costs = root.reduced_costs()
    relaxation = Relaxation(root.distances, _pairs(costs <= gap + TOLERANCE))
    for coefficients, rhs, row in root.rows:
        if row.dual_value() != 0.0:
            relaxation.add_cut(coefficients, rhs)
    return relaxation, {edge: 1 for edge in relaxation.variables if costs[edge] < -gap - TOLERANCE}


def _pairs(mask):
    return [(int(a), int(b)) for a, b in zip(*np.nonzero(np.triu(mask, 1)), strict=True)]


def _bound_variables(relaxation, decisions):
    for edge, variable in relaxation.variables.items():
        value = decisions.get(edge)
        variable.SetBounds(value or 0, 1 if value is None else value)


def _branch(relaxation, support):
    """The edge whose children raise the bound most, of the most fractional ones, and which child to visit first.

    Returns (None, 0) if all are whole.
    """
    fractional = [edge for edge, value in support.items() if 1e-6 < value < 1 - 1e-6]
    fractional.sort(key=lambda edge: abs(support[edge] - 0.5))
    children = {edge: _child_bounds(relaxation, edge) for edge in fractional[:BRANCHING_CANDIDATES]}
    if not children:
        return None, 0
    edge = max(children, key=lambda edge: sorted(children[edge]))
    return edge, int(np.argmin(children[edge]))


def _child_bounds(relaxation, edge):
    """Bounds of the children without and with the edge."""
    variable = relaxation.variables[edge]
    bounds = []
    for value in (0, 1):
        variable.SetBounds(value, value)
        bounds.append(relaxation.solve()[0])
    variable.SetBounds(0, 1)
    return bounds


def _walk(size, support):
    links = [[] for _ in range(size)]
    for a, b in support:
        links[a].append(b)
        links[b].append(a)
    tour, previous = [0], -1
    while len(tour) < size:
        onward = [node for node in links[tour[-1]] if node != previous]
        previous = tour[-1]
        tour.append(onward[0])
    return np.array(tour)

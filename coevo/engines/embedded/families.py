"""The families of the grammar: one per kind of heuristic function, each with a catalogue of features.

Templates name arguments by kind (`{matrix}`), integers by `{k}` and `{j}`. They are spelled as `ast.unparse` spells
them. Next-node features are vectors over the candidates `c`. They avoid the n × n sub-matrix of the unvisited nodes and
prefer the cheapest spelling (a row, then a gather; methods over functions of numpy), because the function is called
thousands of times per evaluation.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Level = Literal["atom", "product", "sum"]
Shape = Literal["full", "part"]


@dataclass(frozen=True)
class Entry:
    """A catalogue entry.

    Attributes:
        template: Text with holes.
        share: Relative frequency.
        ranges: Inclusive range of every integer hole, in order of first appearance.
        level: Loosest operator at the top of the text: decides parentheses.
        is_signed: Whether values may be negative.
        shape: "part" for a row or column of a square result, which needs a full companion.
        scalar: The same for one candidate `i` (or pair `i`, `j` of a matrix), as people write it; "" if none.
    """

    template: str
    share: float = 1.0
    ranges: tuple[tuple[int, int], ...] = ()
    level: Level = "atom"
    is_signed: bool = False
    shape: Shape = "full"
    scalar: str = ""

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The argument kinds it needs."""
        found = re.findall(r"\{([a-z]{2,})\}", self.template)
        return frozenset([*found, "points"] if self.uses_angles else found)

    @property
    def uses_angles(self) -> bool:
        """Whether it refers to `t`, the angles around the depot."""
        return "(t[" in self.template


@dataclass(frozen=True)
class Family:
    """One kind of heuristic function.

    Attributes:
        name: Unique.
        kinds: Argument kinds in the usual order.
        optional: Those that a signature may lack.
        returns: Kind of the result.
        catalogue: The features.
        closings: Possible last lines.
        share: Relative frequency in the corpus.
        is_vector: Whether scores are 1-D, so that they can be ranked.
        is_scalar: Whether scores are single numbers.
        is_minimised: Whether the smallest score wins.
    """

    name: str
    kinds: tuple[str, ...]
    optional: frozenset[str]
    returns: str
    catalogue: tuple[Entry, ...]
    closings: tuple[str, ...]
    share: float
    is_vector: bool = False
    is_scalar: bool = False
    is_minimised: bool = False

    @cached_property
    def sums(self) -> frozenset[int]:
        """Catalogue positions whose text is a sum at its top level."""
        return frozenset(key for key, entry in enumerate(self.catalogue) if entry.level == "sum")


_D, _C, _E, _U = "{matrix}", "{node}", "{destination}", "{nodes}"

NEXT_NODE = Family(
    name="next_node",
    kinds=("node", "destination", "nodes", "matrix"),
    optional=frozenset({"destination"}),
    returns="node",
    share=3.0,
    is_vector=True,
    is_minimised=True,
    closings=(" return c[s.argmin()]",),
    catalogue=(
        Entry(f"{_D}[{_C}][c]", 10, scalar=f"{_D}[{_C}, i]"),
        Entry(f"{_D}[{_E}][c]", 8, scalar=f"{_D}[i, {_E}]"),
        Entry(f"{_D}[{_U}].sum(axis=0)[c] / len({_U})", 3, level="product", scalar=f"{_D}[i, {_U}].mean()"),
        Entry(f"{_D}[{_U}].max(axis=0)[c]", 1, scalar=f"{_D}[i, {_U}].max()"),
        Entry(
            f"np.sort({_D}[c][:, {_U}])[:, :{{k}}].sum(axis=1)",
            2,
            ((2, 6),),
            scalar=f"np.sort({_D}[i, {_U}])[:{{k}}].sum()",
        ),
        Entry(f"{_D}[c][:, c].sum(axis=0)", 1),
        Entry(f"{_D}.sum(axis=0)[c] / len({_D})", 3, level="product", scalar=f"np.mean({_D}[i])"),
        Entry(f"{_D}.dot({_D}[{_C}])[c] / len({_D})", 0.7, level="product", scalar=f"{_D}[i].std()"),
        Entry(f"np.abs({_D}[{_E}][c] - {_D}[{_C}, {_E}])", 1, scalar=f"abs({_D}[i, {_E}] - {_D}[{_C}, {_E}])"),
        Entry(f"{_D}[c[{_D}[{_C}][c].argmin()]][c]", 1),
        Entry(f"{_D}[{_U}[{_D}[{_C}][{_U}].argmax()]][c]", 1.5),
        Entry(f"{_D}[{_U}[{_D}[{_E}][{_U}].argmax()]][c]", 1.5),
        Entry(f"{_D}[{_C}][c] / {_D}[{_E}][c]", 1, level="product", scalar=f"{_D}[{_C}, i] / {_D}[i, {_E}]"),
        Entry(
            f"len({_U}) / len({_D}) * {_D}[{_E}][c]",
            2.5,
            level="product",
            scalar=f"{_D}[i, {_E}] * len({_U}) / len({_D})",
        ),
        Entry(f"len({_U}) / len({_D}) * {_D}[{_C}][c]", 0.7, level="product"),
        Entry(f"{_D}[{_E}][c] / len({_U})", 1.5, level="product", scalar=f"{_D}[{_E}, i] / len({_U})"),
        Entry(
            f"{_D}[{_C}][c] - {_D}[{_E}][c]", 1, level="sum", is_signed=True, scalar=f"{_D}[{_C}, i] - {_D}[i, {_E}]"
        ),
    ),
)

_W, _V, _Q = "{weights}", "{values}", "{number}"
NEXT_ITEM = Family(
    name="next_item",
    kinds=("number", "weights", "values"),
    optional=frozenset(),
    returns="index",
    share=1.3,
    is_vector=True,
    closings=(
        f" return np.argmax(np.where({_W} <= {_Q}, s, -np.inf))",
        f" return int(np.argmax(np.where({_W} <= {_Q}, s, -np.inf)))",
    ),
    catalogue=(
        Entry(f"{_V} / {_W}", 8, level="product", scalar=f"{_V}[i] / {_W}[i]"),
        Entry(_V, 4, scalar=f"{_V}[i]"),
        Entry(_W, 4, scalar=f"{_W}[i]"),
        Entry(f"{_Q} - {_W}", 3, level="sum", is_signed=True, scalar=f"{_Q} - {_W}[i]"),
        Entry(f"{_W} / {_Q}", 3, level="product", scalar=f"{_W}[i] / {_Q}"),
        Entry(f"{_V} / {_V}.max()", 2, level="product", scalar=f"{_V}[i] / {_V}.max()"),
        Entry(f"{_W} / {_W}.mean()", 2, level="product", scalar=f"{_W}[i] / np.mean({_W})"),
        Entry(f"{_V} - {_V}.mean()", 1, level="sum", is_signed=True, scalar=f"{_V}[i] - np.mean({_V})"),
        Entry(f"np.abs({_W} - {_W}.mean())", 1, scalar=f"abs({_W}[i] - {_W}.mean())"),
        Entry(f"{_V} ** 2 / {_W}", 1.5, level="product", scalar=f"{_V}[i] ** 2 / {_W}[i]"),
        Entry(f"{_V} * {_W}", 1, level="product", scalar=f"{_V}[i] * {_W}[i]"),
        Entry(f"{_Q} % {_W}", 0.7, level="product", scalar=f"{_Q} % {_W}[i]"),
        Entry(f"np.minimum({_W}, {_Q} - {_W})", 0.7, is_signed=True, scalar=f"min({_W}[i], {_Q} - {_W}[i])"),
    ),
)

_T = "{tuple}"
PRIORITY = Family(
    name="priority",
    kinds=("tuple", "length", "integer"),
    optional=frozenset({"length", "integer"}),
    returns="number",
    share=1.3,
    is_scalar=True,
    closings=(" return float(s)", " return s"),
    catalogue=(
        Entry(f"{_T}.count({{k}})", 6, ((0, 2),)),
        Entry(f"sum({_T})", 2),
        Entry(f"{_T}[{{k}}]", 3, ((0, 5),)),
        Entry(f"{_T}[-{{k}}]", 2, ((1, 5),)),
        Entry(f"sum({_T}[:{{k}}])", 2, ((2, 6),)),
        Entry(f"sum({_T}[{{k}}:])", 1, ((2, 6),)),
        Entry(f"sum({_T}[::{{k}}])", 2, ((2, 4),)),
        Entry(f"sum({_T}[{{k}}::3])", 3, ((0, 2),)),
        Entry(f"{_T}[{{k}}::3].count({{j}})", 4, ((0, 2), (0, 2))),
        Entry(f"{_T}[:{{k}}].count({{j}})", 2, ((3, 6), (0, 2))),
        Entry(f"sum([x == y for x, y in zip({_T}, {_T}[{{k}}:])])", 3, ((1, 4),)),
        Entry(f"sum([abs(x - y) for x, y in zip({_T}, {_T}[{{k}}:])])", 2, ((1, 4),)),
        Entry(f"sum([x * y for x, y in zip({_T}, {_T}[{{k}}:])])", 1.5, ((1, 4),)),
        Entry(f"sum([i * x for i, x in enumerate({_T})])", 2),
        Entry(f"sum([i * x for i, x in enumerate({_T})]) % {{k}}", 2, ((2, 7),), level="product"),
        Entry(f"sum([x ** i for i, x in enumerate({_T}[:{{k}}])])", 0.7, ((3, 6),)),
        Entry(f"abs({_T}.count(1) - {_T}.count(2))", 1.5),
        Entry(f"{_T}.count(0) * {_T}.count(2)", 1, level="product"),
        Entry("abs({integer} - sum({tuple}))", 1.5),
        Entry("{length} - {tuple}.count(0)", 1.5, level="sum"),
        Entry("sum({tuple}) / {length}", 1, level="product"),
        Entry("{tuple}.count({k}) / {integer}", 2, ((0, 2),), level="product"),
        Entry(f"len(set({_T}))", 0.7),
        Entry(f"{_T}.index(max({_T}))", 0.7),
        Entry(f"max({_T}[:{{k}}])", 0.7, ((2, 6),)),
    ),
)

_MATRIX_ENTRIES = (
    Entry(f"1 / ({_D} + 0.01)", 4, level="product", scalar=f"1 / ({_D}[i, j] + 0.01)"),
    Entry(f"1 / ({_D} + 1e-06)", 4, level="product", scalar=f"1 / ({_D}[i, j] + 1e-06)"),
    Entry(f"np.exp(-{_D} / {_D}.mean())", 5, scalar=f"np.exp(-{_D}[i, j] / {_D}.mean())"),
    Entry(f"{_D}", 3, scalar=f"{_D}[i, j]"),
    Entry(f"{_D} / {_D}.max()", 2, level="product", scalar=f"{_D}[i, j] / np.max({_D})"),
    Entry(f"{_D} / {_D}.mean(axis=1, keepdims=True)", 3, level="product", scalar=f"{_D}[i, j] / {_D}[i].mean()"),
    Entry(f"np.argsort(np.argsort({_D}, axis=1), axis=1)", 3),
    Entry(f"np.exp(-{_D} / np.sort({_D}, axis=1)[:, [{{k}}]])", 3, ((1, 6),)),
    Entry(f"np.sort({_D}, axis=1)[:, [{{k}}]] / ({_D} + 0.01)", 2, ((1, 6),), level="product"),
    Entry(f"np.where({_D} < np.sort({_D}, axis=1)[:, [{{k}}]], 1, 0)", 3, ((2, 9),)),
    Entry(f"{_D}.mean(axis=1, keepdims=True)", 2, shape="part", scalar=f"np.mean({_D}[i])"),
    Entry(f"{_D}.mean(axis=0)", 2, shape="part", scalar=f"{_D}[:, j].mean()"),
    Entry(
        f"{_D}.mean(axis=0) + {_D}.mean(axis=1, keepdims=True)",
        2,
        level="sum",
        scalar=f"{_D}[i].mean() + {_D}[:, j].mean()",
    ),
    Entry(f"{_D}.std(axis=1, keepdims=True)", 1, shape="part", scalar=f"{_D}[i].std()"),
)

SQUARE = Family(
    name="square",
    kinds=("matrix", "points"),
    optional=frozenset({"points"}),
    returns="square",
    share=1.4,
    closings=(" return s", " return np.maximum(s, 1e-09)"),
    catalogue=_MATRIX_ENTRIES,
)

_P, _R = "{points}", "{demands}"
_PAIR = f"{_R}[:, None] + {_R}"
ROUTING = Family(
    name="routing",
    kinds=("matrix", "points", "demands", "number"),
    optional=frozenset({"points"}),
    returns="square",
    share=2.6,
    closings=(" return s", " return np.maximum(s, 1e-09)"),
    catalogue=(
        *_MATRIX_ENTRIES,
        Entry(
            f"{_D}[:, [0]] + {_D}[0] - {_D}",
            9,
            level="sum",
            is_signed=True,
            scalar=f"{_D}[i, 0] + {_D}[0, j] - {_D}[i, j]",
        ),
        Entry(f"({_PAIR}) / {_Q}", 5, level="product", scalar=f"({_R}[i] + {_R}[j]) / {_Q}"),
        Entry(f"np.where({_PAIR} <= {_Q}, 1, 0)", 4, scalar=f"int({_R}[i] + {_R}[j] <= {_Q})"),
        Entry(_PAIR, 2, level="sum", scalar=f"{_R}[i] + {_R}[j]"),
        Entry(f"{_D}[0]", 2, shape="part", scalar=f"{_D}[0, j]"),
        Entry(f"{_D}[:, [0]]", 2, shape="part", scalar=f"{_D}[i, 0]"),
        Entry(f"{_R} / {_Q}", 4, level="product", shape="part", scalar=f"{_R}[j] / {_Q}"),
        Entry(f"{_R}[:, None] / {_Q}", 2, level="product", shape="part", scalar=f"{_R}[i] / {_Q}"),
        Entry(f"{_R} / {_R}.max()", 2, level="product", shape="part", scalar=f"{_R}[j] / {_R}.max()"),
        Entry("np.cos(t[:, None] - t)", 5, is_signed=True, scalar="np.cos(t[i] - t[j])"),
        Entry("np.abs(t[:, None] - t)", 2, scalar="abs(t[i] - t[j])"),
        Entry(f"np.linalg.norm({_P} - {_P}.mean(axis=0), axis=1)", 2, shape="part"),
        Entry(f"np.linalg.norm({_P} - {_P}[0], axis=1)", 2, shape="part", scalar=f"np.linalg.norm({_P}[j] - {_P}[0])"),
        Entry(
            f"np.abs({_P}[:, [{{k}}]] - {_P}[:, {{k}}])", 1.5, ((0, 1),), scalar=f"abs({_P}[i, {{k}}] - {_P}[j, {{k}}])"
        ),
    ),
)

PACKING = Family(
    name="packing",
    kinds=("demands", "number"),
    optional=frozenset(),
    returns="square",
    share=1.5,
    closings=(" return s", " return np.maximum(s, 1e-09)"),
    catalogue=(
        Entry(f"({_PAIR}) / {_Q}", 5, level="product", scalar=f"({_R}[i] + {_R}[j]) / {_Q}"),
        Entry(_PAIR, 4, level="sum", scalar=f"{_R}[i] + {_R}[j]"),
        Entry(f"np.where({_PAIR} <= {_Q}, 1, 0)", 4, scalar=f"int({_R}[i] + {_R}[j] <= {_Q})"),
        Entry(f"np.abs({_Q} - {_R}[:, None] - {_R})", 4, scalar=f"abs({_Q} - {_R}[i] - {_R}[j])"),
        Entry(
            f"np.exp(-np.abs({_Q} - {_R}[:, None] - {_R}) / {_Q})",
            3,
            scalar=f"np.exp(-abs({_Q} - {_R}[i] - {_R}[j]) / {_Q})",
        ),
        Entry(f"{_R}[:, None] * {_R}", 2, level="product", scalar=f"{_R}[i] * {_R}[j]"),
        Entry(f"np.abs({_R}[:, None] - {_R})", 3, scalar=f"abs({_R}[i] - {_R}[j])"),
        Entry(f"np.maximum({_R}[:, None], {_R})", 3, scalar=f"max({_R}[i], {_R}[j])"),
        Entry(f"np.minimum({_R}[:, None], {_R})", 2, scalar=f"min({_R}[i], {_R}[j])"),
        Entry(f"{_Q} % ({_PAIR})", 2, level="product", scalar=f"{_Q} % ({_R}[i] + {_R}[j])"),
        Entry(f"{_R} / {_Q}", 4, level="product", shape="part", scalar=f"{_R}[j] / {_Q}"),
        Entry(f"{_R}[:, None] / {_Q}", 3, level="product", shape="part", scalar=f"{_R}[i] / {_Q}"),
        Entry(_R, 2, shape="part", scalar=f"{_R}[j]"),
        Entry(f"{_R}[:, None]", 1.5, shape="part", scalar=f"{_R}[i]"),
        Entry(f"{_R} / {_R}.max()", 2, level="product", shape="part", scalar=f"{_R}[j] / np.max({_R})"),
        Entry(f"({_Q} - {_R}) / {_Q}", 2, level="product", shape="part", scalar=f"({_Q} - {_R}[j]) / {_Q}"),
    ),
)

_I, _B = "{item}", "{bins}"
ONLINE = Family(
    name="online",
    kinds=("item", "bins"),
    optional=frozenset(),
    returns="vector",
    share=1.2,
    is_vector=True,
    closings=(" return s",),
    catalogue=(
        Entry(f"{_B} - {_I}", 8, level="sum", scalar=f"{_B}[i] - {_I}"),
        Entry(f"({_B} - {_I}) / {_B}.max()", 4, level="product", scalar=f"({_B}[i] - {_I}) / {_B}.max()"),
        Entry(f"{_I} / {_B}", 4, level="product", scalar=f"{_I} / {_B}[i]"),
        Entry(_B, 3, scalar=f"{_B}[i]"),
        Entry(f"{_B} / {_B}.mean()", 2, level="product", scalar=f"{_B}[i] / np.mean({_B})"),
        Entry(f"np.arange(len({_B}))", 2, scalar="i"),
        Entry(f"np.abs({_B} - 2 * {_I})", 2, scalar=f"abs({_B}[i] - 2 * {_I})"),
        Entry(f"np.where({_B} - {_I} < {_I}, 1, 0)", 2, scalar=f"int({_B}[i] - {_I} < {_I})"),
        Entry(f"({_B} - {_I}) % {_I}", 2, level="product", scalar=f"({_B}[i] - {_I}) % {_I}"),
        Entry(f"{_B}.max() - {_B}", 2, level="sum", scalar=f"max({_B}) - {_B}[i]"),
        Entry(f"np.abs({_B} - {_B}.mean())", 1.5, scalar=f"abs({_B}[i] - np.mean({_B}))"),
        Entry(f"{_B} * {_I}", 1, level="product", scalar=f"{_B}[i] * {_I}"),
        Entry(f"{_B} // {_I}", 1.5, level="product", scalar=f"{_B}[i] // {_I}"),
    ),
)

FAMILIES: dict[str, Family] = {
    family.name: family for family in (NEXT_NODE, NEXT_ITEM, PRIORITY, SQUARE, ROUTING, PACKING, ONLINE)
}


def find_family(kinds: frozenset[str], returns: str) -> Family | None:
    """The family that writes functions of these argument kinds and result; None if there is none."""
    for family in FAMILIES.values():
        if family.returns == returns and kinds <= set(family.kinds) and set(family.kinds) - family.optional <= kinds:
            return family
    return None

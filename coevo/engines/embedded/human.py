"""Programs as people write them: loops, `min(…, key=lambda)`, comprehensions, long names, early returns.

Only parents in the corpus look like this. They let the model read baselines it has not seen; what it writes is always
the vectorised style of `render`, which runs fast. A rendering keeps the terms that have a one-candidate form.

Style functions write names as markers (`@best`, `@f0`) and arguments as kinds (`{weights}`); both are filled in here.
"""

import re

import numpy as np

from coevo.engines.embedded import human_matrix, human_score, human_tour
from coevo.engines.embedded.families import FAMILIES, Family
from coevo.engines.embedded.pen import Pen, Style, long_names
from coevo.engines.embedded.program import Program
from coevo.engines.embedded.render import Slots

_STYLES: dict[str, tuple[Style, ...]] = {
    "next_node": human_tour.STYLES,
    "next_item": human_score.ITEM_STYLES,
    "priority": human_score.TUPLE_STYLES,
    "online": human_score.BIN_STYLES,
    "square": human_matrix.STYLES,
    "routing": human_matrix.STYLES,
    "packing": human_matrix.STYLES,
}
_LONG_NAMES_SHARE = 0.2
_PREAMBLE_SHARE = 0.25
_INVENTED_SHARE = 0.15


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_NAMES: dict[str, tuple[str, ...]] = {
    "i": _words("i j k node candidate item idx u city nxt option b x pos"),
    "j": _words("j k m other v to col"),
    "best": _words("best best_node best_index choice chosen pick selected winner result best_item"),
    "low": _words("best_score best_value lowest record best_cost top limit best_so_far"),
    "s": _words("score scores value total cost h heuristic priority_value weight_matrix result combined rank"),
    "f": _words(
        "distances to_end ratio near far mean_dist load slack fit part term base bonus penalty savings a b x y"
    ),
    "c": _words("candidates nodes_left cands options choices rest"),
    "w": _words("alpha beta gamma lam weight factor c1 c2 w1 w2 theta"),
    "n": _words("n size count num m total_nodes"),
}
_SYLLABLES = _words("ba co di fe gu ha jo ki lu me no pa ri so tu va we xi ya zo el an or st")


def as_people_write(rng: np.random.Generator, program: Program, slots: Slots) -> str:
    """A rendering of the program that a person might have written; not in `ast.unparse` form yet."""
    family = FAMILIES[program.family]
    styles = _STYLES[family.name]
    style = long_names if rng.random() < _LONG_NAMES_SHARE else styles[int(rng.integers(len(styles)))]
    text = style(Pen(rng, program, family, slots))
    for kind, slot in slots.items():
        text = text.replace(f"{{{kind}}}", slot)
    return _with_preamble(rng, _with_names(rng, text), family, slots)


def _with_names(rng: np.random.Generator, text: str) -> str:
    """Replace the markers by names, all different."""
    chosen: dict[str, str] = {}
    for marker in dict.fromkeys(re.findall(r"@[a-z]+\d*", text)):
        name = _name(rng, marker[1:].rstrip("0123456789"))
        while name in chosen.values():
            name = f"{name}_{int(rng.integers(2, 9))}"
        chosen[marker] = name
    return re.sub(r"@[a-z]+\d*", lambda match: chosen[match[0]], text)


def _name(rng: np.random.Generator, role: str) -> str:
    if rng.random() < _INVENTED_SHARE:
        return "".join(rng.choice(_SYLLABLES, size=int(rng.integers(1, 4)))) + "_v"
    return str(rng.choice(_NAMES[role]))


def _with_preamble(rng: np.random.Generator, text: str, family: Family, slots: Slots) -> str:
    if rng.random() > _PREAMBLE_SHARE:
        return text
    first = next(slots[kind] for kind in ("nodes", "matrix", "weights", "bins", "demands", "tuple") if kind in slots)
    lines = [f" n_total = len({first})", " eps = 1e-09"]
    if family.name == "next_node":
        lines += [f" if len({first}) == 1:\n  return {first}[0]", f" if {first}.size == 1:\n  return int({first}[0])"]
    if family.name == "next_item":
        lines.append(f" if len({first}) == 0:\n  return None")
    return f"{lines[int(rng.integers(len(lines)))]}\n{text}"

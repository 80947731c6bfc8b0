"""Checks of the functions that a problem may have besides the three it needs; each is skipped where there is none."""

import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from coevo.authoring.findings import Check, Finding, failed, ok, skipped
from coevo.authoring.subject import LOOKED_AT, Subject
from coevo.errors import InstanceFileError

NONSENSE = {
    "an empty": b"",
    "a nonsense": b"this is no instance\n1 2 x\n",
    "a binary": bytes(range(256)),
}
"""What no format allows, in words."""
_TAGS = """
    svg g title desc defs path line polyline polygon rect circle ellipse text tspan marker pattern clipPath
    linearGradient radialGradient stop
"""
"""What a drawing may consist of: shapes and words. Whatever moves, loads or styles is not among it."""
_NO_MARKUP = ("<!DOCTYPE", "<!ENTITY", "<?")


def reference(subject: Subject) -> Finding:
    """The best known objectives are finite, one per instance, and no baseline beats them."""
    function = _optional(subject, "reference")
    if function is None:
        return skipped("the problem has no reference, so no gaps are shown")
    known = {split: function(split) for split in subject.splits}
    for split, values in known.items():
        if values is None:
            continue
        array, count = np.asarray(values, dtype=float), len(subject.splits[split])
        if array.shape != (count,) or not np.isfinite(array).all():
            return failed(f"expected {count} finite numbers from reference({split!r}), got shape {array.shape}")
        if beaten := _beaten(subject, split, array):
            return failed(beaten)
    return ok(f"never worse than a baseline: {', '.join(s for s, values in known.items() if values is not None)}")


def _beaten(subject: Subject, split: str, known: Any) -> str:
    """What beats the best known objective, if anything does."""
    sign = subject.folder.sign()
    for place, instance in enumerate(subject.splits[split][:LOOKED_AT]):
        for name, heuristic in subject.heuristics.items():
            cost = subject.cost(instance, subject.solve(heuristic, instance))
            if cost < sign * known[place] - 1e-9 * max(1.0, abs(cost)):
                return f"{name} reaches {sign * cost:g} on {instance.name}, better than the reference {known[place]:g}"
    return ""


def classics(subject: Subject) -> Finding:
    """Textbook algorithms give feasible solutions."""
    function = _optional(subject, "classics")
    if function is None:
        return skipped("the problem has no classics")
    algorithms = function()
    for name, algorithm in algorithms.items():
        for instance, _ in subject.examples:
            value = subject.cost(instance, np.asarray(algorithm(instance)))
            if not np.isfinite(value):
                return failed(f"{name} has the objective {value} on {instance.name}")
    return ok(f"{', '.join(algorithms)}: feasible")


def drawing(subject: Subject) -> Finding:
    """A drawing is well-formed SVG that carries no script and points nowhere."""
    function = _optional(subject, "draw")
    if function is None:
        return skipped("the problem has no draw")
    for instance, solution in subject.examples:
        if wrong := unsafe_svg(function(instance, solution)):
            return failed(f"the drawing of {instance.name} {wrong}")
    return ok(f"{len(subject.examples)} drawings are well-formed SVG without scripts or links")


def unsafe_svg(text: str) -> str:
    """What is wrong with a drawing; empty if nothing is."""
    if found := [mark for mark in _NO_MARKUP if mark in text]:
        return f"holds {found[0]}"
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        return f"is not well-formed: {error}"
    if root.tag != "{http://www.w3.org/2000/svg}svg":
        return f"is no SVG document but a {root.tag}"
    for element in root.iter():
        tag = str(element.tag).rpartition("}")[2]
        if tag not in _TAGS.split():
            return f"holds a <{tag}>"
        for name, value in element.attrib.items():
            is_link = name.rpartition("}")[2].lower().startswith(("on", "href"))
            if is_link or "\\" in value or "url(" in value.lower().replace("url(#", ""):
                return f"holds the attribute {name}={value!r:.40}"
    return ""


def reading(subject: Subject) -> Finding:
    """Files that hold no instance are refused as `InstanceFileError`, and `reads` says what `read` understands."""
    function, declared = _optional(subject, "read"), subject.folder.spec.reads
    if function is None and not declared:
        return skipped("the problem reads no files")
    if function is None:
        return failed(f"problem.toml says reads = {declared!r}, but problem.py has no read")
    if not declared:
        return failed("problem.py has read; say in problem.toml under `reads` what it understands")
    with tempfile.TemporaryDirectory() as folder:
        for name, content in NONSENSE.items():
            file = Path(folder) / f"{name.split()[-1]}.txt"
            file.write_bytes(content)
            if wrong := _accepted(function, file):
                return failed(f"expected InstanceFileError for {name} file, {wrong}")
    return ok(f"reads {declared}; refuses {', '.join(NONSENSE)} file")


def _accepted(read: Callable[..., Any], file: Path) -> str:
    try:
        found = read(file)
    except InstanceFileError:
        return ""
    except Exception as error:
        return f"got {type(error).__name__}: {error}"
    return f"got {len(found)} instances"


def solvers(subject: Subject) -> Finding:
    """The solvers of `problem.toml` are those that `solvers` offers."""
    function, declared = _optional(subject, "solvers"), {solver.name for solver in subject.folder.spec.solvers}
    offered = set(function()) if function else set()
    if function is None and not declared:
        return skipped("the problem has no solvers")
    if offered != declared:
        return failed(f"problem.toml lists {sorted(declared) or 'none'}, solvers() offers {sorted(offered) or 'none'}")
    return ok(", ".join(sorted(declared)))


def _optional(subject: Subject, name: str) -> Callable[..., Any] | None:
    found: Callable[..., Any] | None = getattr(subject.problem, name, None)
    return found


CHECKS = (
    Check("reference", "best known objectives are never worse than a baseline", reference, ("solving",)),
    Check("classics", "textbook algorithms are feasible", classics, ("solving",)),
    Check("drawing", "drawings are safe SVG", drawing, ("solving",)),
    Check("reading", "files that hold no instance are refused", reading, ("module",)),
    Check("solvers", "solvers are those that problem.toml lists", solvers, ("module",)),
)

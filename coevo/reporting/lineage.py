"""Where the best heuristic came from: its line of better parents, back to a first program."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from coevo.reporting.diffs import DiffLine, diff, whole
from coevo.reporting.journal import Journal, Verdict
from coevo.reporting.story import Ancestor, Source

_IDENTITY = re.compile(r"[0-9a-f]{16}")


def read_source(run: Path, identity: str) -> Source:
    """A candidate's program from the run directory; its identity, a hash, says whether it is what the events mean."""
    if not _IDENTITY.fullmatch(identity):
        return Source(identity, None, "the log names no such candidate")
    file = run / "candidates" / f"{identity}.py"
    try:
        content = file.read_bytes()
    except OSError:
        return Source(identity, None, f"candidates/{identity}.py is missing")
    if hashlib.sha256(content).hexdigest()[:16] != identity:
        return Source(identity, None, f"candidates/{identity}.py has changed since the run")
    return Source(identity, content.decode(errors="backslashreplace"))


def lineage_of(run: Path, journal: Journal, best: str, answer: Callable[[str], str]) -> tuple[Ancestor, ...]:
    """The ancestors of a candidate and itself, oldest first; each step follows the parent of least cost.

    Args:
        run: The run directory, for programs.
        journal: What happened.
        best: Identity of the candidate.
        answer: The text of a completion by its name; empty where there is none.
    """
    line = [best]
    while (parent := _better_parent(journal, line[-1])) is not None and parent not in line:
        line.append(parent)
    sources = {identity: read_source(run, identity) for identity in line}
    return tuple(_ancestor(journal, sources, identity, answer) for identity in reversed(line))


def _parents(journal: Journal, identity: str) -> Sequence[str]:
    origin = journal.origins.get(identity)
    return () if origin is None else [each for each in origin.parents if each != identity]


def _better_parent(journal: Journal, identity: str) -> str | None:
    verdicts = {each: _verdict(journal, each) for each in _parents(journal, identity)}
    costs = {each: verdict.cost for each, verdict in verdicts.items() if verdict and verdict.cost is not None}
    return min(costs, key=lambda each: costs[each]) if costs else None


def _verdict(journal: Journal, identity: str) -> Verdict | None:
    return journal.judged.get(identity, {}).get("search")


def _ancestor(journal: Journal, sources: Mapping[str, Source], identity: str, answer: Callable[[str], str]) -> Ancestor:
    parent = _better_parent(journal, identity)
    lines, note = _difference(sources[identity], sources.get(parent) if parent else None)
    verdict, child = _verdict(journal, identity), journal.origins.get(identity)
    return Ancestor(
        source=sources[identity],
        child=child,
        objective=verdict.objective if verdict else None,
        parent=parent,
        others=tuple(each for each in dict.fromkeys(_parents(journal, identity)) if each != parent),
        diff=lines,
        note=note,
        answer=answer(child.name) if child else "",
    )


def _difference(source: Source, parent: Source | None) -> tuple[tuple[DiffLine, ...], str]:
    if source.code is None:
        return (), source.note
    if parent is None:
        return whole(source.code)
    if parent.code is None:
        return (), f"not compared: {parent.note}"
    return diff(parent.code, source.code)

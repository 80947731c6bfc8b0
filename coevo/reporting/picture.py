"""The best heuristic at work: one instance solved again in the sandbox, and drawn as an image that cannot run code."""

import base64
import tempfile
from dataclasses import dataclass
from pathlib import Path

from coevo.content import ProblemFolder, problem_paths
from coevo.errors import CoevoError
from coevo.reporting.story import RunStory
from coevo.reporting.telling import problem_of
from coevo.searching.api import content_hash
from coevo.searching.drawing import draw_solution
from coevo.searching.finish import instances_of

AGREE = "To run it, and draw: coevo report --draw."


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing, or the reason why there is none.

    Attributes:
        data: Address of the image, with the image in it; empty if there is none.
        caption: What is drawn, or why nothing is.
    """

    data: str
    caption: str


def picture_of(story: RunStory, *, trusts_folder: bool = False) -> Picture:
    """Draw the best heuristic's solution of the first instance of a split that the search did not see.

    Drawing runs the problem's own code outside the sandbox, and a run directory can name any folder as its problem. So
    only what is installed, with coevo or by another package, is drawn with, unless the caller says otherwise. Problem
    files that are not those the run began with are not drawn with either: they may mean something else.

    Args:
        story: Of the run.
        trusts_folder: Whether to run the code of a folder that is not installed, too.
    """
    folder = problem_of(story)
    if story.source is None or story.source.code is None:
        return Picture("", f"Not drawn: {story.source.note if story.source else 'no valid candidate'}.")
    if folder is None:
        return Picture("", f"Not drawn: the folder of the problem {story.problem} is not at hand.")
    if not (trusts_folder or is_installed(folder)):
        return Picture("", f"Not drawn: the problem is the folder {folder.path}, whose code would run. {AGREE}")
    if content_hash(folder) != story.content:
        return Picture("", "Not drawn: the problem's files, or coevo, have changed since the run.")
    try:
        if not hasattr(folder.load(), "draw"):
            return Picture("", f"Not drawn: the problem {story.problem} does not draw its solutions.")
        return _drawn(folder, story.source.code)
    except (CoevoError, OSError) as error:
        return Picture("", f"Not drawn: {error}.")


def is_installed(folder: ProblemFolder) -> bool:
    """Whether a problem's folder is one that can be named: bundled, or brought by an installed package."""
    return folder.path.resolve() in {path.resolve() for path in problem_paths()}


def _drawn(folder: ProblemFolder, code: str) -> Picture:
    split = unseen_split(folder)
    instance = instances_of(folder, split)[0]
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "drawing.svg"
        draw_solution(folder, code, instance, file)
        drawing = file.read_bytes()
    caption = (
        f"Its solution of {instance.name}, the first instance of the split {split} ({folder.spec.splits[split]}), "
        "solved again for this page."
    )
    return Picture(f"data:image/svg+xml;base64,{base64.b64encode(drawing).decode()}", caption)


def unseen_split(folder: ProblemFolder) -> str:
    """The first split that is only reported; else the one that chooses."""
    reported = [name for name in folder.spec.splits if name not in ("search", folder.spec.choosing_split)]
    return reported[0] if reported else folder.spec.choosing_split

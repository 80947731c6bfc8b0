"""How the prompts learn inside a search: what children teach is distilled into a skill that later prompts hold."""

from collections.abc import Sequence

from coevo.interfaces import Guidance
from coevo.searching.breeding import Child


class Teacher:
    """Teaches nothing."""

    guidance = Guidance()

    def observe(self, operator: str, children: Sequence[Child], rewards: Sequence[float] | None) -> None:
        """Take note of a batch."""

    def teach(self, generation: int, *, is_last: bool) -> None:
        """Distil what has been noted."""

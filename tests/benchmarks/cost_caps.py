"""Whether `--max-cost` holds: searches against a priced server that keeps its own bill, and behaves badly.

    python tests/benchmarks/cost_caps.py --budget 120 --seeds 0 1 2

The server bills what it has read and written, also where nobody hears of it: it cuts connections after writing, fails
and is asked again, does not count, or counts what is no number. A cap is a share of what the same search costs without
one on a server that behaves. Bills are the server's; they are held against the cap and against what the run says.
"""

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from scripted_server import Reply, Server, answer, refusal

from coevo.errors import ModelError
from coevo.searching.api import resume_search, run_search
from coevo.searching.config import SearchConfig, make_config
from coevo.searching.result import SearchResult

PRICE_IN, PRICE_OUT = 2.0, 10.0
MAX_TOKENS = 200
WRITING_S = 0.05
ATTEMPTS = 20
"""Times that a run is resumed which ended because the server failed too often in a row."""

PROGRAM = """{{Nearest, power {power}.}}
```python
def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    near = distance_matrix[current_node, unvisited_nodes]
    far = distance_matrix[unvisited_nodes].mean(axis=1)
    return unvisited_nodes[(near ** {power} / far).argmin()]
```"""


@dataclass
class Bill:
    """What a server has read and written, in tokens."""

    tokens_in: int = 0
    tokens_out: int = 0
    messages: int = 0
    unheard: int = 0
    """Messages that were written and billed, and whose answer did not get back whole."""

    @property
    def cost(self) -> float:
        """In the currency of the prices, which are per million tokens."""
        return (self.tokens_in * PRICE_IN + self.tokens_out * PRICE_OUT) / 1e6


class PricedServer(Server):
    """Bills every message that it writes an answer to.

    Args:
        manner: From the reply that it has billed, and a generator, to what it sends.
    """

    def __init__(self, manner: Callable[[Reply, random.Random], Reply]) -> None:
        super().__init__()
        self.bill = Bill()
        self._manner, self._lock = manner, threading.Lock()
        self._attempts: Counter[int] = Counter()
        self.script = self._write

    def _write(self, _number: int, body: dict) -> Reply:
        seed = body["seed"]
        usage = (sum(len(message["content"]) for message in body["messages"]) // 4, 20 + seed % (MAX_TOKENS - 20))
        whole = answer(PROGRAM.format(power=1 + seed % 97 / 100), usage=usage)
        time.sleep(WRITING_S)
        with self._lock:
            # Dice of its own for each attempt of a message: what happens to it does not depend on who comes first.
            self._attempts[seed] += 1
            reply = self._manner(whole, random.Random(f"{seed}/{self._attempts[seed]}"))
            if reply.status < 400 or reply.status == 504:
                self.bill.messages += 1
                self.bill.tokens_in += usage[0]
                self.bill.tokens_out += usage[1]
                self.bill.unheard += reply.sent is not None or reply.status == 504
        return reply


def counts(reply: Reply, _random: random.Random) -> Reply:
    """Behaves."""
    return reply


def says_nothing(reply: Reply, _random: random.Random) -> Reply:
    """Does not say what it counted."""
    reply.body.pop("usage")
    return reply


def says_nonsense(reply: Reply, dice: random.Random) -> Reply:
    """Says what is no count."""
    reply.body["usage"] = {"prompt_tokens": dice.choice([-5, None, "many", 1e400]), "completion_tokens": -1}
    return reply


def fails(reply: Reply, dice: random.Random) -> Reply:
    """Refuses a third, and is asked again; those are not billed."""
    return refusal(dice.choice([429, 500, 503])) if dice.random() < 1 / 3 else reply


def cuts(reply: Reply, dice: random.Random) -> Reply:
    """Writes a third, bills them, and cuts the connection in the middle of the answer."""
    if dice.random() < 1 / 3:
        reply.sent = 40
    return reply


def gives_up(reply: Reply, dice: random.Random) -> Reply:
    """Writes a third and bills them, and the gateway before it answers 504."""
    return refusal(504) if dice.random() < 1 / 3 else reply


MANNERS = {
    "counts": counts, "says nothing of usage": says_nothing, "says nonsense of usage": says_nonsense,
    "refuses a third": fails, "cuts a third after writing": cuts, "504 for a third after writing": gives_up,
}  # fmt: skip


@dataclass
class Found:
    """One search, resumed where the server failed too often."""

    bill: Bill
    said: float
    most: int


def search(manner: str, budget: int, seed: int, cap: float | None) -> Found:
    """One search against a server of its own."""
    server = PricedServer(MANNERS[manner])
    allowance = {"price_in": PRICE_IN, "price_out": PRICE_OUT, **({} if cap is None else {"max_cost": cap})}
    config = make_config({
        "problem": "tsp", "model": f"{server.url}#tiny", "budget": budget, "seed": seed, "workers": 2,
        "max_tokens": MAX_TOKENS, "compare": False, "splits": ("search",), "allowance": allowance,
    })  # fmt: skip
    try:
        with tempfile.TemporaryDirectory() as folder:
            return Found(server.bill, persistent(config, Path(folder)).paid["model"].cost, server.most)
    finally:
        server.close()


def persistent(config: SearchConfig, folder: Path) -> SearchResult:
    """The result of a run, which is resumed for as long as its server fails too often in a row."""
    for _ in range(ATTEMPTS):
        try:
            begun = list(folder.iterdir())
            return resume_search(begun[0]) if begun else run_search(config, runs_dir=folder)
        except ModelError as error:
            sys.stderr.write(f"{error}\n")
    raise RuntimeError(f"expected an end within {ATTEMPTS} attempts")


def main() -> None:
    """Run all, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=120)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--shares", type=float, nargs="+", default=[0.2, 0.5, 0.8])
    options = parser.parse_args()
    os.environ["NO_PROXY"] = "127.0.0.1"
    print("| server | cap, share of the whole | seeds | messages billed | never heard of | most at once | bill / cap "
          "| run's account / bill | above the cap |")  # fmt: skip
    print("| --- |" + " ---: |" * 8)
    whole = {seed: search("counts", options.budget, seed, None).bill.cost for seed in options.seeds}
    for manner in MANNERS:
        for share in options.shares:
            caps = {seed: share * whole[seed] for seed in options.seeds}
            found = {seed: search(manner, options.budget, seed, cap) for seed, cap in caps.items()}
            bills = [found[seed].bill.cost / caps[seed] for seed in options.seeds]
            said = [each.said / each.bill.cost for each in found.values()]
            cells = (
                manner, f"{share:.0%}", len(found), sum(f.bill.messages for f in found.values()),
                sum(f.bill.unheard for f in found.values()), max(f.most for f in found.values()),
                f"{min(bills):.3f} to {max(bills):.3f}", f"{min(said):.2f} to {max(said):.2f}",
                f"{sum(bill > 1 for bill in bills)} of {len(bills)}",
            )  # fmt: skip
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()

"""How soon `coevo view` shows a long run, and how soon what is new in it: the real server, asked as a browser asks it.

    python tests/benchmarks/live_view.py --candidates 20000 --repeats 5

A run of so many candidates is written as a search would leave it. Each repeat starts the server anew and asks for the
run's page until the whole log is on it; then events come, one child at a time. Seconds are wall time, CPU seconds those
of the server alone, figures medians of the repeats. Where playwright and Chromium are there, the page is also followed
as a browser shows it, from the write to what a reader sees.
"""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.request import urlopen

from coevo.records.run_directory import RunDirectory
from coevo.reporting.live.finding import slug_of
from coevo.searching.config import make_config

OPERATORS = {"e1": 8, "e2": 8, "m1": 12, "m2": 12}
FIRST = 20
LINES = 18
POLL_S = 0.02
CHILDREN = re.compile(r"<dt>valid children</dt><dd>[^<]*</dd><dd class=\"note\">([^<]*)</dd>")


class LongRun:
    """Writes a run of made-up heuristics event by event; costs sink slowly, 15 of 100 children fail."""

    def __init__(self, folder: Path, candidates: int):
        config = make_config({"budget": candidates, "problem": "tsp", "population": 10, "seed": 3})
        self.directory = RunDirectory.create(folder, "long", config.model_dump(mode="json"))
        self.generations = candidates // sum(OPERATORS.values())
        self._rng = random.Random(1)
        self._time = 1.0
        self._population: list[tuple[float, str]] = []
        self._file = self.directory.events.open("a", encoding="utf-8")

    def emit(self, kind: str, **facts: object) -> None:
        """Append an event, a tenth of a second after the one before."""
        self._time += 0.1
        clock = {"time": self._time, **({"cpu_s": 0.1} if kind == "verdict" else {})}
        self._file.write(json.dumps({"kind": kind, **facts, "clock": clock}, separators=(",", ":")) + "\n")

    def write(self) -> None:
        """The whole run but for its end."""
        plan = [OPERATORS] * self.generations
        self.emit("started", schema_version=1, version="0.1.0", problem="tsp", content="c0de", first=FIRST,
                  fingerprint="0" * 16, generations=plan, reference=5.0, references={"search": 5.0},
                  baselines={})  # fmt: skip
        self._batch(0, "i1", FIRST)
        for generation in range(1, self.generations + 1):
            for operator, count in OPERATORS.items():
                self._batch(generation, operator, count)
                if operator.startswith("m"):
                    self._step(generation, operator)
            best, worst = self._population[0][0], self._population[-1][0]
            self.emit("generation", generation=generation, best=best, worst=worst, stop="")
        self._file.flush()

    def _batch(self, generation: int, operator: str, count: int) -> None:
        names = [f"{generation}.{operator}.{place}" for place in range(count)]
        self._ask(names, generation, operator)
        for name in names:
            self._child(name, generation, operator)
        if generation:
            reward = -self._rng.random()
            self.emit("batch", generation=generation, operator=operator, children=count, valid=count, reward=reward)

    def _ask(self, names: list[str], generation: int, operator: str) -> None:
        member = {"step": generation, "direction": 0}
        asked = [{"id": name, "seed": 2**40, "member": member, "prompt": "0" * 16} for name in names]
        self.emit("asked", operator=operator, generation=generation, requests=asked)

    def more(self, name: str) -> None:
        """One child more in the last generation."""
        self._ask([name], self.generations, "e1")
        self._child(name, self.generations, "e1")
        self._file.flush()

    def _step(self, generation: int, operator: str) -> None:
        self.emit("step", schema_version=1, noise_scheme="coevo-noise-v1", run_key="0" * 16, generation=generation,
                  step=2 * generation + (operator == "m2"), operator=operator, sigma=0.5 / generation,
                  directions=[0, 1, 2, 3], signs=[1] * 4, rewards=[1.0, 2.0, 3.0, 4.0],
                  coefficients=[0.1, 0.2, -0.1, 0.3], applied=True, fingerprint=f"{generation:016x}")  # fmt: skip

    def _child(self, name: str, generation: int, operator: str) -> None:
        changed = self._rng.randrange(LINES)
        body = "\n".join(
            f"    x{line} = distances * {self._rng.random() if line == changed else line:.4f} + {line}"
            for line in range(LINES)
        )
        code = f"def heuristic(distances):\n{body}\n    return x3\n"
        identity = hashlib.sha256(code.encode()).hexdigest()[:16]
        parents = self._rng.sample(self._population, min(2, len(self._population))) if generation else []
        has_failed = self._rng.random() < 0.15
        cost = None if has_failed else self._cost(min((cost for cost, _ in parents), default=9.0), generation)
        found = {"status": "crash" if has_failed else "ok", "detail": "division by zero" if has_failed else ""}
        self.emit("completion", id=name, text=f"{{An idea.}}\n```python\n{code}```", finish="stop", tokens=300)
        self.emit("verdict", candidate=identity, split="search", role="candidate", **found, cost=cost, objective=cost)
        self.emit("child", id=name, operator=operator, generation=generation, member=None,
                  parents=[parent for _, parent in parents], candidate=identity, **found, cost=cost)  # fmt: skip
        if cost is not None:
            (self.directory.path / "candidates" / f"{identity}.py").write_text(code)
            self._population = sorted([*self._population, (cost, identity)])[:10]

    def _cost(self, parent: float, generation: int) -> float:
        if self._rng.random() < 0.3:
            return parent * (1 + self._rng.uniform(-0.002, 0.2))
        return 5 + 3 * self._rng.random() ** 2 + 40 / (10 + generation)


class Viewer:
    """A server in a process of its own, and the page of one run."""

    def __init__(self, run: Path, process: "subprocess.Popen[str]", address: str):
        self.page = f"{address}run/{slug_of(run.resolve())}"
        self._process = process

    def ask(self, path: str = "") -> str:
        """What the server answers."""
        with urlopen(self.page + path) as answer:
            return str(answer.read().decode())

    def cpu_s(self) -> float:
        """CPU seconds of the server so far; Linux counts them in hundredths."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def viewer(run: Path) -> Iterator[Viewer]:
    """A server of its own that shows a run."""
    command = [sys.executable, "-m", "coevo", "view", str(run), "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Viewer(run, process, process.stdout.readline().split()[1])
        finally:
            process.terminate()


def opening(found: Viewer) -> dict[str, float]:
    """Seconds to the first answer, and to the page of the whole log."""
    begun, cpu = time.monotonic(), found.cpu_s()
    page = found.ask()
    first = time.monotonic() - begun
    while 'data-version=""' in page:
        page = found.ask()
    whole = time.monotonic() - begun
    return {"first page, s": first, "page of the whole run, s": whole, "CPU to open it, s": found.cpu_s() - cpu}


def following(found: Viewer, run: LongRun, name: str) -> dict[str, float]:
    """Seconds from a child's event to the page that counts it, and what drawing it cost."""
    before, cpu = CHILDREN.search(found.ask())[1], found.cpu_s()
    version = json.loads(found.ask("/state"))["version"]
    run.more(name)
    begun = time.monotonic()
    while json.loads(found.ask("/state"))["version"] == version:
        time.sleep(POLL_S)
    page = found.ask()
    latency = time.monotonic() - begun
    assert CHILDREN.search(page)[1] != before, "the page does not count the new child"
    return {
        "event to page over HTTP, s": latency,
        "CPU of the redraw, s": found.cpu_s() - cpu,
        "page, kB": len(page) / 1e3,
    }


@contextmanager
def chromium() -> Iterator[object | None]:
    """Headless Chromium, or None where there is none."""
    program = os.environ.get("COEVO_CHROMIUM") or shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        yield None
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


COUNTS = "[...document.querySelectorAll('.facts > div')].find(e => e.innerText.includes('valid children'))?.innerText"
"""What the page says of the children, as JavaScript; nothing before the whole log is told."""


def seen(page: object, before: str | None) -> float:
    """Wait until the page shows other counts of children than before; returns seconds."""
    begun = time.monotonic()
    while page.evaluate(COUNTS) in (before, None):
        page.wait_for_timeout(1000 * POLL_S)
    return time.monotonic() - begun


def browsing(browser: object, found: Viewer, run: LongRun, name: str) -> dict[str, float]:
    """The same as a browser shows it."""
    page = browser.new_page()
    begun = time.monotonic()
    page.goto(found.page)
    seen(page, None)
    opened = time.monotonic() - begun
    before = page.evaluate(COUNTS)
    run.more(name)
    latency = seen(page, before)
    page.close()
    return {"opened in Chromium, s": opened, "event to screen in Chromium, s": latency}


def main() -> None:
    """Write the run, measure, and print medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    figures: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        run = LongRun(Path(folder), options.candidates)
        run.write()
        path = run.directory.path
        sys.stdout.write(f"{options.candidates} candidates, {run.directory.events.stat().st_size / 1e6:.1f} MB\n")
        for repeat in range(options.repeats):
            with viewer(path) as found:
                told = opening(found) | following(found, run, f"more.{repeat}")
            if browser:
                with viewer(path) as found:
                    told |= browsing(browser, found, run, f"seen.{repeat}")
            for name, value in told.items():
                figures.setdefault(name, []).append(value)
    for name, values in figures.items():
        sys.stdout.write(f"{name:32} {median(values):8.2f}   {' '.join(f'{value:.2f}' for value in values)}\n")


if __name__ == "__main__":
    main()

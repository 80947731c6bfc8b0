"""Runs made by hand, event by event, and a reader of pages that shares nothing with their writer."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from coevo.records.run_directory import RunDirectory
from coevo.searching.config import make_config

HOSTILE = (
    "</style></title></pre></details><script>document.title = 'ran'; window.ran = 1</script>"
    "<img src=x onerror='window.ran = 1'><svg onload='window.ran = 1'></svg><style>body { display: none }</style>"
    "<link rel=stylesheet href=http://example.invalid/a.css>{{ 7 * 7 }}{% raw %}&lt; \" ' ]]> \x00 \u202e \ud800 end"
)


class RunMaker:
    """Writes a run directory event by event, as a search does; every event comes one second after the one before."""

    def __init__(self, folder: Path, **settings: Any):
        config = make_config({"budget": 12, "problem": "tiny", "population": 2, "seed": 3, **settings})
        self.directory = RunDirectory.create(folder, "run", config.model_dump(mode="json"))
        self.path = self.directory.path
        self.baseline = ""
        self.codes: dict[str, str] = {}
        self._judged: set[tuple[str, str]] = set()
        self._time = 1000.0

    def emit(self, kind: str, **facts: Any) -> None:
        """Append any event."""
        self._time += 1.0
        clock = {"time": self._time, **({"cpu_s": 0.25} if kind == "verdict" else {})}
        with self.directory.events.open("a") as file:
            file.write(json.dumps({"kind": kind, **facts, "clock": clock}) + "\n")

    def begin(
        self,
        *,
        references: Mapping[str, float] = MappingProxyType({"search": 1.0}),
        baselines: Mapping[str, str] = MappingProxyType({}),
        content: str = "c0de",
        **facts: Any,
    ) -> None:
        """The first event: two first completions, then two generations."""
        plan = [{"e1": 2, "m1": 2}, {"e1": 3, "m1": 3}]
        opening = {"schema_version": 1, "version": "0.1.0", "problem": "tiny", "content": content, "first": 2}
        known = {"reference": references.get("search"), "references": dict(references), "baselines": dict(baselines)}
        self.emit("started", **{**opening, "fingerprint": "0" * 16, "generations": plan, **known, **facts})

    def code(self, text: str) -> str:
        """Keep a program; returns its identity."""
        data = text.encode(errors="surrogatepass")
        identity = hashlib.sha256(data).hexdigest()[:16]
        (self.path / "candidates" / f"{identity}.py").write_bytes(data)
        self.codes[identity] = text
        return identity

    def verdict(
        self, candidate: str, cost: float | None, *, split: str = "search", role: str = "candidate", detail: str = "",
        sign: float = 1.0,
    ) -> None:  # fmt: skip
        """A verdict, once per candidate and split."""
        if (candidate, split) in self._judged:
            return
        self._judged.add((candidate, split))
        status = "crash" if cost is None else "ok"
        objective = None if cost is None else sign * cost
        self.emit("verdict", candidate=candidate, split=split, role=role, status=status, detail=detail, cost=cost,
                  objective=objective)  # fmt: skip

    def batch(
        self, generation: int, operator: str, children: Sequence[dict[str, Any]], *, reward: float | None = None,
        sign: float = 1.0,
    ) -> list[str | None]:  # fmt: skip
        """Ask, answer, judge and record the children of one batch.

        A child has `code` (None for an answer without a program), `cost` (None if not valid), `parents`, `detail`,
        `text`, `tokens` and `finish`; returns their identities.
        """
        names = [f"{generation}.{operator}.{place}" for place in range(len(children))]
        requests = [{"id": name, "seed": place, "member": None, "prompt": "0"} for place, name in enumerate(names)]
        self.emit("asked", operator=operator, generation=generation, requests=requests)
        for name, child in zip(names, children, strict=True):
            self.emit("completion", id=name, text=child.get("text", "an answer"), finish=child.get("finish", "stop"),
                      tokens=child.get("tokens", 7))  # fmt: skip
        identities = [self._child(name, generation, operator, c, sign) for name, c in zip(names, children, strict=True)]
        if generation:
            valid = sum(child.get("cost") is not None for child in children)
            self.emit("batch", generation=generation, operator=operator, children=len(children), valid=valid,
                      reward=reward)  # fmt: skip
        return identities

    def _child(self, name: str, generation: int, operator: str, child: dict[str, Any], sign: float) -> str | None:
        text, cost, detail = child.get("code"), child.get("cost"), child.get("detail", "")
        identity = None if text is None else self.code(text)
        if identity is not None:
            self.verdict(identity, cost, detail=detail, sign=sign)
        status = "invalid" if identity is None else "crash" if cost is None else "ok"
        self.emit("child", id=name, operator=operator, generation=generation, member=None,
                  parents=child.get("parents", []), candidate=identity, status=status, detail=detail,
                  cost=cost)  # fmt: skip
        return identity

    def step(self, step: int, generation: int, *, coefficients: Sequence[float], rewards: Sequence[float]) -> None:
        """A step of the evolution strategy; without coefficients the weights stay."""
        directions = list(range(len(rewards)))
        self.emit("step", schema_version=1, noise_scheme="coevo-noise-v1", run_key="0" * 16, step=step,
                  generation=generation, operator="m1", sigma=0.5 / generation, directions=directions,
                  signs=[1] * len(rewards), rewards=list(rewards), coefficients=list(coefficients),
                  applied=bool(coefficients), fingerprint=f"{step + 1:016x}")  # fmt: skip

    def guard(self, step: int, *, valid: float, bound: float, refused: bool, scale: float) -> None:
        """What the guard made of a step."""
        self.emit("guard", step=step, valid=valid, bound=bound, refused=refused, scale=scale)

    def finish(self, best: str | None, status: str = "done") -> None:
        """The last event, and a result of which every number is another than the events'."""
        self.emit("finished", status=status, best=best)
        wrong = {"search": {"objective": 123.25, "spread": None, "gap": 123.5}}
        budget = {"operator": 9999, "on_top": 9998, "skill": 9997, "planned": 9996}
        values = {"status": status, "best": None, "splits": wrong, "comparisons": {"made up": wrong}, "budget": budget,
                  "fingerprint": "f" * 16, "wall_s": 123.75, "run": "made up"}  # fmt: skip
        self.directory.save_result(values)

    def events(self) -> list[dict[str, Any]]:
        """What has been written so far."""
        return [json.loads(line) for line in self.directory.events.read_text().splitlines()]


def _writable(text: str) -> str:
    return text.encode(errors="replace").decode()


@pytest.fixture
def run_maker(tmp_path: Path) -> Callable[..., RunMaker]:
    """Makes an empty run; keywords are fields of its configuration."""
    return lambda **settings: RunMaker(tmp_path / "runs", **settings)


@pytest.fixture
def whole_run(run_maker: Callable[..., RunMaker]) -> Callable[..., RunMaker]:
    """Makes a finished run of two generations in which everything happens; `text` goes wherever a model writes."""

    def make(text: str = "plain", sign: float = 1.0, **settings: Any) -> RunMaker:
        run = run_maker(**settings)
        run.baseline = yardstick = run.code("yardstick = 1\n")
        run.begin(references={"search": 1.0, "val": 2.0}, baselines={f"yard{_writable(text[:40])}": yardstick})
        said = {"text": text, "detail": text}
        a, b = run.batch(0, "i1", [{"code": f"a = 1  # {text}\n", "cost": 8.0, **said},
                                   {"code": "b = 1\nc = 2\n", "cost": 6.0}], sign=sign)  # fmt: skip
        c, *_ = run.batch(1, "e1", [{"code": f"b = 1\nc = 3  # {text}\n", "cost": 5.0, "parents": [a, b], **said},
                                    {"code": None, "cost": None, "parents": [a, b], **said}], reward=-0.5,
                          sign=sign)  # fmt: skip
        run.batch(1, "m1", [{"code": "b = 1\nc = 2\n", "cost": 6.0, "parents": [b]},
                            {"code": f"boom()  # {text}\n", "cost": None, "parents": [b], **said}], reward=0.25,
                  sign=sign)  # fmt: skip
        run.step(0, 1, coefficients=[0.3, -0.4], rewards=[1.0, 3.0])
        run.emit("generation", generation=1, best=5.0, worst=8.0, stop="")
        run.emit("asked", operator="skill", generation=1, requests=[{"id": "1.skill.0", "seed": 1, "member": None,
                                                                     "prompt": "0"}])  # fmt: skip
        run.emit("completion", id="1.skill.0", text=text, finish="stop", tokens=11)
        lesson = {"traces": 4, "lessons": 2, "levels": [[4, 2, 0], [2, 1, 0]], "rejected": [[text, "too long"]]}
        run.emit("skill", generation=1, version=1, text=f"# Lessons\n{text}\n", use=["argmin"], avoid=[text], **lesson)
        run.batch(2, "e1", [{"code": "b = 1\nc = 9\n", "cost": 5.5, "parents": [b, c]},
                            {"code": "b = 1\nc = 9\n", "cost": 5.5, "parents": [b, c]},
                            {"code": "z = 1\n", "cost": 50.0, "parents": [b, c]}], reward=-1.5, sign=sign)  # fmt: skip
        d, *_ = run.batch(2, "m1", [{"code": "b = 1\nc = 4\nd = 5\n", "cost": 4.0, "parents": [c], **said},
                                    {"code": "q = 1\n", "cost": 7.25, "parents": [c]},
                                    {"code": None, "cost": None, "parents": [c], "finish": "length", "tokens": 99,
                                     **said}], reward=0.125, sign=sign)  # fmt: skip
        run.step(1, 2, coefficients=[], rewards=[2.0, 2.0])
        run.emit("generation", generation=2, best=4.0, worst=6.0, stop="")
        run.emit("skill", generation=2, version=2, text=f"# Lessons\nOther {text}\n", use=[], avoid=[], **lesson)
        run.verdict(d, 4.5, split="val", sign=sign)
        for split, cost in (("search", 6.5), ("val", 6.75)):
            run.verdict(yardstick, cost, split=split, role="baseline", sign=sign)
        # The same values as the baseline's: what a row is follows from its event, not from its numbers.
        run.emit("textbook", name=f"book{_writable(text[:40])}", objectives={"search": sign * 6.5, "val": sign * 6.75})
        run.emit("textbook", name="failing", objectives={"search": sign * 7.0, "val": None})
        run.finish(d)
        return run

    return make


class Page(HTMLParser):
    """What a browser would find in a page.

    Attributes:
        tables: By caption: the heads, then rows of (text, exact value or None).
        tags: Every element with its attributes, in order.
        text: All text.
    """

    def __init__(self, html: str):
        super().__init__(convert_charrefs=True)
        self.tables: dict[str, list[list[tuple[str, str | None]]]] = {}
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._rows: list[list[tuple[str, str | None]]] = []
        self._open: str | None = None
        self._value: str | None = None
        self._caught = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element; open a cell."""
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self._rows = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("th", "td", "caption"):
            self._open, self._value, self._caught = tag, None, ""
        elif tag == "data" and self._open:
            self._value = dict(attrs)["value"]

    def handle_data(self, data: str) -> None:
        """Gather text."""
        self.text += data
        self._caught += data

    def handle_endtag(self, tag: str) -> None:
        """Close a cell."""
        if tag == "caption":
            self.tables.setdefault(self._caught.strip(), self._rows)
        elif tag in ("th", "td"):
            self._rows[-1].append((self._caught.strip(), self._value))
        if tag in ("th", "td", "caption"):
            self._open = None

    def rows(self, caption: str) -> list[dict[str, float | str]]:
        """A table's rows by column head: exact values where there are any, else texts."""
        heads, *rows = self.tables[caption]
        names = [text for text, _ in heads]
        return [
            {name: text if value is None else float(value) for name, (text, value) in zip(names, row, strict=True)}
            for row in rows
        ]

    def curve(self, name: str) -> tuple[list[float], list[float]]:
        """The exact values of the first curve of a name."""
        found = next(attrs for _, attrs in self.tags if attrs.get("data-series") == name)
        xs, ys = ([float(value) for value in str(found[key]).split()] for key in ("data-x", "data-y"))
        return xs, ys


@pytest.fixture
def read_page() -> Callable[[str], Page]:
    """Parses a page."""
    return Page


@pytest.fixture
def hostile() -> str:
    """Text that tries everything against the page that shows it."""
    return HOSTILE


_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--disable-quic",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium; skips where there is none. Gone with its module: other tests count processes."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    program = os.environ.get("COEVO_CHROMIUM") or shutil.which("chromium")
    if program is None:
        pytest.skip("no Chromium on this machine (apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=list(_FLAGS))
        yield opened
        opened.close()

"""Pages of tuning runs: the numbers are those of the events, whatever the texts say, and Chromium shows them."""

import json
from pathlib import Path

import pytest
from aiming import write_environment
from one_weight_models import install

from coevo.errors import RunError
from coevo.reporting.run_page import run_page
from coevo.reporting.telling import tell_run
from coevo.reporting.tune_page import tune_page
from coevo.reporting.tune_story import tell_tuning
from coevo.reporting.writing import write_page
from coevo.tuning.api import run_tuning
from coevo.tuning.config import make_tune_config


@pytest.fixture
def tuned(monkeypatch, tmp_path):
    """Makes a finished tuning run; `told` is what the environment says, keywords are fields of the configuration."""
    install(monkeypatch)

    def make(told="Say a number.", **values):
        aim = write_environment(tmp_path / "aim")
        code = (aim / "environment.py").read_text().replace('"Say a number."', repr(told))
        (aim / "environment.py").write_text(code.replace('"again"', repr(f"again {told}")))
        strategy = {"members": 8, "sigma": 0.2, "sigma_end": 0.05, "alpha": 0.3, **values.pop("strategy", {})}
        given = {"env": str(aim), "model": "one", "generations": 6, "tasks": 3, "every": 2, "workers": 1}
        config = make_tune_config({**given, "splits": ("test",), "evolution_strategy": strategy, **values})
        return Path(run_tuning(config, runs_dir=tmp_path / "runs").run)

    return make


def events_of(run):
    """The events of a run."""
    return [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]


def add_skills(run, text):
    """Append two versions of a skill to a run's events."""
    lesson = {"use": [], "avoid": [], "traces": 4, "lessons": 2, "levels": [[4, 1, 0]], "rejected": [[text, text]]}
    with (run / "events.jsonl").open("a") as file:
        for version in (1, 2):
            skill = {"kind": "skill", "generation": 2 * version, "version": version, "text": f"# {version}\n{text}\n"}
            file.write(json.dumps({**skill, **lesson}) + "\n")


@pytest.fixture
def hostile_page(tuned, hostile):
    """The page of a run whose every text attacks it."""
    text = hostile.encode(errors="replace").decode()
    run = tuned(told=text)
    add_skills(run, text)
    return tune_page(tell_tuning(run))


def test_the_curves_are_the_events_numbers(tuned, read_page):
    """Val, members, turns and tokens by generation, and their error bars, are those of the log."""
    run = tuned()
    page, events = read_page(tune_page(tell_tuning(run))), events_of(run)
    val = [e for e in events if e["kind"] == "measured" and e["split"] == "val"]
    assert page.curve("val") == ([e["generation"] for e in val], [e["mean"] for e in val])
    steps = [e for e in events if e["kind"] == "step"]
    xs, ys = page.curve("members")
    assert xs == [e["generation"] for e in steps]
    assert ys == pytest.approx([sum(e["rewards"]) / len(e["rewards"]) for e in steps])
    played = [e for e in events if e["kind"] == "played"]
    for name in ("turns", "tokens"):
        assert page.curve(name) == ([e["generation"] for e in played], [e[name] for e in played])
    bars = [attrs for tag, attrs in page.tags if tag == "line" and "data-low" in attrs]
    halves = [(float(bar["data-high"]) - float(bar["data-low"])) / 2 for bar in bars[: len(val)]]
    assert halves == pytest.approx([e["error"] for e in val])


def test_start_and_chosen_stand_beside_each_other(tuned, read_page):
    """The table has both weights on every split; the chosen ones' numbers on val are those they were chosen by."""
    run = tuned()
    page, events = read_page(tune_page(tell_tuning(run))), events_of(run)
    rows = {row["split, weights"]: row for row in page.rows("The first and the chosen weights")}
    assert list(rows) == ["val, start", "val, chosen", "test, start", "test, chosen"]
    chosen = next(e for e in events if e["kind"] == "chosen")
    assert rows["val, chosen"]["score"] == chosen["mean"]
    final = next(e for e in events if e["kind"] == "measured" and e["label"])
    assert (rows["test, chosen"]["score"], rows["test, chosen"]["standard error"]) == (final["mean"], final["error"])
    first = next(e for e in events if e["kind"] == "measured" and e["split"] == "test")
    assert rows["test, start"]["Pass@1"] == first["passed"]["1"]


def test_dropped_tasks_and_endings_are_counted(tuned, read_page):
    """Every generation says which tasks were left out, and failed surroundings are an ending of their own."""
    run = tuned(options={"fault": "learn-1"}, fault_retries=0)
    events = events_of(run)
    name = next(e["task"] for e in events if e["kind"] == "episode" and ".train." in e["id"])
    run = tuned(options={"fault": name}, fault_retries=0)
    page, events = read_page(tune_page(tell_tuning(run))), events_of(run)
    dropped = [len(e["dropped"]) for e in events if e["kind"] == "played"]
    assert sum(dropped) > 0
    assert [row["tasks dropped"] for row in page.rows("Members by generation")] == dropped
    rows = {row["played for"]: row for row in page.rows("Endings of episodes")}
    failed = sum(e["ended"] == "fault" for e in events if e["kind"] == "episode" and ".train." in e["id"])
    assert rows["train"]["surroundings failed"] == failed


def test_a_run_without_members_shows_its_training(tuned, read_page):
    """A baseline has no ES step: the page shows what training episodes scored, and nothing of how members moved."""
    run = tuned()
    events = [event for event in events_of(run) if event["kind"] != "step"]
    (run / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    page = read_page(tune_page(tell_tuning(run)))
    played = [event for event in events if event["kind"] == "played"]
    assert page.curve("training") == ([e["generation"] for e in played], [e["mean"] for e in played])
    assert "How the model moved" not in page.text


def test_conversations_and_skills_are_shown_as_text(tuned, hostile, hostile_page, read_page):
    """What was said stands on the page, escaped, and none of its elements or styles exists."""
    page = read_page(hostile_page)
    assert {tag for tag, _ in page.tags} & {"script", "img", "link"} == {"link"}
    assert [attrs["href"] for tag, attrs in page.tags if tag == "link"] == ["data:,"]
    assert sum(tag == "style" for tag, _ in page.tags) == 1
    assert "Turn 2, the agent" in page.text
    assert "Version 2" in page.text
    assert "{{ 7 * 7 }}" in page.text
    assert "\\u202e" in page.text


def test_what_moved_is_counted_by_generation(tuned, read_page):
    """A generation is one step: curves and tables have its number, from 1 as in the course, and no operator."""
    run = tuned()
    page, steps = read_page(tune_page(tell_tuning(run))), [e for e in events_of(run) if e["kind"] == "step"]
    generations = [e["generation"] for e in steps]
    assert generations == list(range(1, 7))
    assert page.curve("σ (weight units)") == (generations, [e["sigma"] for e in steps])
    assert page.curve("√Σc²")[0] == generations
    rows = page.rows("Steps")
    assert [row["generation"] for row in rows] == generations
    assert not {"step", "operator"} & set(rows[0])


def test_a_search_still_counts_its_steps(whole_run, read_page):
    """It takes several of them in a generation, each at an operator."""
    rows = read_page(run_page(tell_run(whole_run().path))).rows("Steps")
    assert [(row["step"], row["generation"], row["operator"]) for row in rows] == [(0, 1, "m1"), (1, 2, "m1")]


def test_the_updates_of_a_baseline_are_drawn(tuned, read_page):
    """Loss, divergence and gradient norm of each generation are its event's; the last fingerprint is theirs."""
    run = tuned()
    events = [event for event in events_of(run) if event["kind"] != "step"]
    told = [
        {"kind": "gradient", "generation": n, "loss": 0.5 / n, "kl": 0.01 * n, "grad_norm": 1.5 * n, "updates": 4,
         "fingerprint": f"{n:016x}"} for n in (1, 2, 3)
    ]  # fmt: skip
    (run / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in [*events, *told]))
    page = read_page(tune_page(tell_tuning(run)))
    for name, key in (("loss", "loss"), ("kl", "kl"), ("norm", "grad_norm")):
        assert page.curve(name) == ([1, 2, 3], [event[key] for event in told])
    assert [row["updates"] for row in page.rows("Updates by generation")] == [4, 4, 4]
    assert f"to {3:016x}" in page.text
    run = tuned(baseline={"kl": 0.0})
    (run / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in [*events, *told]))
    assert '"kl"' not in tune_page(tell_tuning(run))


def test_an_unfinished_run_has_a_page(tuned, read_page):
    """Cut anywhere, also before its first event, the log gives a page that says so."""
    run = tuned()
    (run / "result.json").unlink()
    lines = (run / "events.jsonl").read_text().splitlines()
    for count in (0, 1, 2, 9, 20, 60, len(lines) - 1):
        (run / "events.jsonl").write_text("".join(f"{line}\n" for line in lines[:count]))
        page = read_page(tune_page(tell_tuning(run)))
        assert "unfinished" in page.text
        assert "nan" not in page.text.lower().split()


def test_the_command_writes_it_and_refuses_an_edited_log(tuned):
    """`coevo report` finds out what kind of run it is; an event that lacks something is named."""
    run = tuned()
    assert "An agent tuned on aim" in write_page(run).read_text()
    lines = (run / "events.jsonl").read_text().splitlines()
    place = next(n for n, line in enumerate(lines) if '"kind":"measured"' in line)
    event = json.loads(lines[place])
    del event["turns"]
    lines[place] = json.dumps(event)
    (run / "events.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(RunError, match="measured event"):
        write_page(run)


@pytest.mark.slow
def test_long_lines_wrap_and_wide_tables_scroll(browser, tuned, tmp_path):
    """No text of a conversation is wider than its box, and every table that is wider can be scrolled to its end."""
    file = tmp_path / "page.html"
    file.write_text(tune_page(tell_tuning(tuned(told="word " * 200 + "w" * 900))))
    context = browser.new_context(viewport={"width": 360, "height": 900})
    page = context.new_page()
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    wide = page.evaluate("[...document.querySelectorAll('pre.prose')].map(each => each.scrollWidth > each.clientWidth)")
    cut = page.evaluate("""
        [...document.querySelectorAll('.scroll')].filter(each => each.scrollWidth > each.clientWidth).map(each => {
            each.scrollLeft = each.scrollWidth;
            const last = each.querySelector('thead th:last-child').getBoundingClientRect();
            return last.right > each.getBoundingClientRect().right + 1;
        })
    """)
    context.close()
    assert wide
    assert not any(wide)
    assert cut
    assert not any(cut)


@pytest.mark.slow
def test_a_hostile_run_does_nothing_in_a_browser(browser, hostile_page, tmp_path):
    """Nothing runs, is logged or fetched; nothing is wider than the window; no chart's text leaves its card."""
    file = tmp_path / "page.html"
    file.write_text(hostile_page)
    for width, scheme in ((360, "light"), (1280, "dark")):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page, said, asked = context.new_page(), [], []
        page.on("console", lambda message, said=said: said.append(message.text))
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(file.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert (said, [url for url in asked if url != file.as_uri() and not url.startswith("data:")]) == ([], [])
        assert page.evaluate("[window.ran, document.scripts.length, document.styleSheets.length]") == [None, 0, 1]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        outside = page.evaluate("""
            [...document.querySelectorAll('svg.chart text')].filter(text => {
                const own = text.getBoundingClientRect();
                const card = text.closest('figure').getBoundingClientRect();
                return own.left < card.left || own.right > card.right;
            }).map(text => text.textContent)
        """)
        context.close()
        assert outside == []

import base64
import hashlib
import re
import shutil
from itertools import pairwise

import pytest

from coevo.content import find_problem
from coevo.reporting.picture import Picture, is_installed, picture_of, unseen_split
from coevo.reporting.run_page import SHOWN_CODE, run_page
from coevo.reporting.telling import tell_run
from coevo.reporting.writing import write_page
from coevo.searching.api import content_hash

NOT_DRAWN = Picture("", "Not drawn.")


def page_of(run, **fields):
    """The page of a run, without a drawing."""
    return run_page(tell_run(run.path), **fields)


def test_the_curve_has_the_runs_numbers(whole_run, read_page):
    """The values drawn are the running minimum of the raw children, and the table beneath has the same."""
    run = whole_run()
    page = read_page(page_of(run))
    costs, best = [], []
    for place, child in enumerate((e for e in run.events() if e["kind"] == "child"), 1):
        if child["cost"] is not None and (not costs or child["cost"] < costs[-1]):
            costs.append(child["cost"])
            best.append(place)
    assert page.curve("best so far") == ([*best, 12], [*costs, costs[-1]])
    rows = page.rows("Every improvement")
    assert [(row["completion"], row["objective"]) for row in rows] == list(zip(best, costs, strict=True))
    assert [row["gap"] for row in rows] == [cost - 1.0 for cost in costs]


def test_the_tables_have_the_runs_numbers(whole_run, read_page):
    """Batches, steps, generations, completions and failures on the page, recomputed from the raw events."""
    run = whole_run()
    page, events = read_page(page_of(run)), run.events()
    children = [e for e in events if e["kind"] == "child"]
    for row in page.rows("Batches"):
        own = [c for c in children if (c["generation"], c["operator"]) == (row["generation"], row["operator"])]
        valid = sum(c["status"] == "ok" for c in own)
        assert (row["children"], row["valid"], row["share"]) == (len(own), valid, valid / len(own))
    rewards = [e["reward"] for e in events if e["kind"] == "batch"]
    assert [row["mean reward"] for row in page.rows("Batches")] == ["–", *rewards]
    steps = [e for e in events if e["kind"] == "step"]
    assert [row["σ"] for row in page.rows("Steps")] == [e["sigma"] for e in steps]
    assert [row["fingerprint after"] for row in page.rows("Steps")] == [e["fingerprint"] for e in steps]
    ends = [e for e in events if e["kind"] == "generation"]
    assert [(r["best"], r["worst"]) for r in page.rows("Generations")][1:] == [(e["best"], e["worst"]) for e in ends]
    failed = [c for c in children if c["status"] != "ok"]
    assert sum(row["children"] for row in page.rows("Why children were not valid")) == len(failed)
    for row in page.rows("Completions by operator"):
        own = [c for c in children if c["operator"] == row["operator"]]
        assert row["copy of a parent"] == sum(c["candidate"] in c["parents"] for c in own)
        assert row["not valid"] == sum(c["status"] != "ok" for c in own)


def test_results_by_split(whole_run, read_page):
    """The best and the yardsticks have the values of their events, textbook algorithms are marked as such."""
    rows = read_page(page_of(whole_run(sign=-1.0))).rows("Mean objective (maximised) and gap to the best known")
    assert [(row["heuristic"], row["search"], row["val"]) for row in rows] == [
        ("best of this run", -4.0, -4.5), ("yardplain", -6.5, -6.75), ("bookplain †", -6.5, -6.75),
        ("failing †", -7.0, "–"),
    ]  # fmt: skip


def test_where_numbers_come_from_is_said(whole_run, read_page):
    """The foot of the page claims events for results alone, and names the files of everything else."""
    page = read_page(page_of(whole_run()))
    assert "recorded events alone" not in page.text
    for file in ("config.toml", "candidates/", "environment.json"):
        assert file in page.text[page.text.index("Made by coevo.") :]
    assert "What it ran on, as environment.json says" in page.tables


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_direction_is_said(whole_run, sign):
    """Minimised or maximised, as the verdicts show."""
    html = page_of(whole_run(sign=sign))
    assert f"objective ({'minimised' if sign > 0 else 'maximised'})" in html


def test_hostile_text_is_text(whole_run, read_page, hostile):
    """No element, attribute or template of a model's becomes one of the page; every piece is there to be read."""
    story = tell_run(whole_run(hostile).path)
    page, plain = read_page(run_page(story, NOT_DRAWN)), read_page(run_page(tell_run(whole_run().path), NOT_DRAWN))
    assert {tag for tag, _ in page.tags} <= {tag for tag, _ in plain.tags}
    assert not {"script", "iframe", "img", "object", "base", "form"} & {tag for tag, _ in page.tags}
    names = {name for _, attributes in page.tags for name in attributes}
    assert not [name for name in names if name.startswith("on") or name == "style"]
    assert "<script>document.title = 'ran'" in page.text
    assert "{{ 7 * 7 }}{% raw %}" in page.text
    assert "\\x00 \\u202e \\ud800 end" in page.text
    assert [tag for tag, _ in page.tags].count("style") == 1


def test_a_hostile_problem_is_text(whole_run, read_page, tiny_problem, tmp_path, hostile):
    """The title of a problem that calls itself a script is shown as it is."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    for file in tiny_problem.iterdir():
        if file.is_file():
            (folder / file.name).write_text(file.read_text())
    (folder / "baselines").mkdir()
    (folder / "baselines" / "one.py").write_text("def priority(durations, worths):\n    return worths\n")
    title = "</h1><script>window.ran = 1</script>"
    (folder / "problem.toml").write_text((folder / "problem.toml").read_text().replace("Order twelve jobs", title))
    page = read_page(page_of(whole_run(hostile, problem=str(folder))))
    assert title in page.text
    assert "script" not in {tag for tag, _ in page.tags}


def test_a_megabyte_of_code_is_cut(run_maker):
    """The page shows the beginning, says how much is left out and where it is, and stays small."""
    run = run_maker()
    run.begin()
    run.batch(0, "i1", [{"code": "x = 1\n" + "#" * 1_000_000, "cost": 1.0, "text": "y" * 1_000_000}])
    html = page_of(run)
    assert len(html) < 100_000
    assert f"{1_000_006 - SHOWN_CODE:,} more characters are not shown" in html
    assert "996,000 more characters are not shown" in html


def test_the_policy_allows_the_one_style_sheet_and_no_script(whole_run):
    """The hash in the policy is that of the page's style sheet; nothing on the page comes from elsewhere."""
    html = page_of(whole_run())
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:")
    assert "script" not in policy
    assert not re.search(r'(?:src|href)="(?!#|data:)', html)
    assert "url(" not in style
    assert "@import" not in style


def test_the_page_is_a_function_of_the_run(whole_run):
    """Made twice, it is the same byte for byte."""
    run = whole_run()
    assert page_of(run) == page_of(run)


def test_sections_without_events_are_left_out(run_maker, read_page):
    """A run that has just begun has a page that says so, without empty charts."""
    run = run_maker(es="off")
    run.begin()
    page = read_page(page_of(run))
    ids = {attributes.get("id") for _, attributes in page.tags}
    assert {"search", "repeat"} <= ids
    assert not {"results", "best", "lineage", "model", "skill", "failures"} & ids
    assert "No candidate has been judged yet" in page.text
    assert "unfinished" in page.text


def test_headings_are_in_order(whole_run, read_page):
    """One first heading, no level skipped, every section with its own; every chart has a role and words."""
    page = read_page(page_of(whole_run()))
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert next(attributes for tag, attributes in page.tags if tag == "html")["lang"] == "en"
    charts = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert len(charts) == 8
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)
    assert [tag for tag, _ in page.tags].count("desc") == len(charts)
    anchors = {attributes["href"][1:] for tag, attributes in page.tags if tag == "a"}
    assert anchors <= {attributes.get("id") for _, attributes in page.tags}


def test_a_drawing_is_an_image(whole_run, read_page):
    """A drawing goes in as the address of an image, with words for those who do not see it."""
    page = read_page(page_of(whole_run(), picture=Picture("data:image/svg+xml;base64,AAAA", "A tour.")))
    image = next(attributes for tag, attributes in page.tags if tag == "img")
    assert image["src"] == "data:image/svg+xml;base64,AAAA"
    assert "A tour." in image["alt"]


def test_why_nothing_is_drawn_is_said(whole_run):
    """A problem that is not at hand, and one whose files are not those of the run, are not drawn with."""
    assert "is not at hand" in picture_of(tell_run(whole_run().path)).caption
    assert "have changed since the run" in picture_of(tell_run(whole_run(problem="tsp").path)).caption


@pytest.fixture
def planted(tiny_problem, tmp_path, run_maker):
    """A run directory as a stranger makes one: its problem is a folder whose code leaves a mark when it is imported."""
    folder = tmp_path / "given" / "tiny"
    shutil.copytree(tiny_problem, folder)
    mark = tmp_path / "mark"
    code = f"open({str(mark)!r}, 'w').close()\n" + (folder / "problem.py").read_text()
    (folder / "problem.py").write_text(code)
    run = run_maker(problem=str(folder))
    run.begin(content=content_hash(find_problem(str(folder))))
    run.batch(0, "i1", [{"code": "def priority(durations, worths):\n    return worths\n", "cost": 7.0}])
    return run.path, folder, mark


@pytest.mark.parametrize("draw", [None, False])
def test_a_page_runs_no_code_that_the_run_brings(planted, draw):
    """A folder that the run names is not imported unless that is asked for, though the run knows its hash."""
    path, folder, mark = planted
    html = write_page(path, draw=draw).read_text()
    assert not mark.exists()
    said = f"the problem is the folder {folder}, whose code would run. To run it, and draw: coevo report --draw."
    assert (said in html) == (draw is None)


def test_a_folder_named_like_a_problem_is_a_folder(planted, monkeypatch, run_maker):
    """Where the working directory holds a folder of that name, the name is no proof that the problem is installed."""
    _, folder, mark = planted
    monkeypatch.chdir(folder.parent)
    run = run_maker(problem="tiny")
    run.begin(content=content_hash(find_problem("tiny")))
    run.batch(0, "i1", [{"code": "a = 1\n", "cost": 7.0}])
    assert "whose code would run" in write_page(run.path).read_text()
    assert not mark.exists()


def test_a_folder_is_drawn_with_on_demand(planted):
    """With an explicit wish the folder's code runs; this problem then turns out not to draw."""
    path, _, mark = planted
    assert "does not draw its solutions" in write_page(path, draw=True).read_text()
    assert mark.exists()


def test_what_can_be_named_is_installed(tsp):
    """A bundled problem is drawn with by default, also where the run names it by its path."""
    assert is_installed(tsp)
    assert is_installed(find_problem(str(tsp.path)))


@pytest.mark.slow
def test_the_best_heuristic_is_drawn_at_work(run_maker, tsp):
    """Its solution of an instance the search has not seen, drawn anew: an image with the instance's name."""
    run = run_maker(problem="tsp")
    run.begin(content=content_hash(tsp))
    code = tsp.baselines()["nearest_neighbour"]
    run.batch(0, "i1", [{"code": code, "cost": 7.0}])
    picture = picture_of(tell_run(run.path))
    assert "test20-0, the first instance of the split test20" in picture.caption
    drawing = base64.b64decode(picture.data.removeprefix("data:image/svg+xml;base64,")).decode()
    assert "<title>test20-0: 20 nodes, length" in drawing


@pytest.mark.slow
def test_a_best_heuristic_that_fails_is_not_drawn(run_maker, tsp):
    """Where the heuristic finds no tour of that instance, the page says why there is no drawing."""
    run = run_maker(problem="tsp")
    run.begin(content=content_hash(tsp))
    run.batch(0, "i1", [{"code": "def select_next_node(a, b, c, d):\n    return -1\n", "cost": 7.0}])
    picture = picture_of(tell_run(run.path))
    assert picture.data == ""
    assert picture.caption.startswith("Not drawn: nothing to draw: ")


def test_the_smallest_reported_split_is_drawn():
    """The first split that is only reported, for a problem with splits to choose with and without."""
    assert [unseen_split(find_problem(name)) for name in ("tsp", "asp")] == ["test20", "12-7"]

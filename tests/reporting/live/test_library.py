import json
import shutil

import pytest

from coevo.records.run_directory import RunDirectory
from coevo.reporting.live import following as following_module
from coevo.reporting.live import library as library_module
from coevo.reporting.live.library import OPEN, Library


class Clock:
    """A clock that moves only when it is told to."""

    def __init__(self):
        self.time = 0.0

    def __call__(self):
        """The time now."""
        return self.time


@pytest.fixture
def clock():
    """Monotonic seconds under the test's control."""
    return Clock()


@pytest.fixture
def library(tmp_path, clock, monkeypatch):
    """The runs of the test; looked for anew at each question, and read without a limit of time."""
    monkeypatch.setattr(library_module, "SCAN_S", 0.0)
    monkeypatch.setattr(library_module, "LIST_S", float("inf"))
    monkeypatch.setattr(library_module, "PAGE_S", float("inf"))
    return Library([tmp_path / "runs"], now=lambda: clock.time, clock=clock)


def states_of(library):
    """State by name."""
    return {each.name: each.state for each in library.states()}


def test_a_folder_that_is_not_there_yet(library, run_maker):
    """Nothing is shown before the folder is there; a run that begins then is found."""
    assert library.states() == []
    assert "No run yet" in library.list_page()
    run = run_maker()
    assert states_of(library) == {run.path.name: "running"}


def test_states_follow_events_and_times(library, whole_run, clock):
    """Running while its log changes, silent later, interrupted as its result says, running again, finished."""
    run = whole_run()
    log, result = run.directory.events, run.path / "result.json"
    lines = log.read_bytes().splitlines(keepends=True)
    result.unlink()
    log.write_bytes(b"".join(lines[:-1]))
    clock.time = log.stat().st_mtime
    assert list(states_of(library).values()) == ["running"]
    clock.time += 299.0
    assert list(states_of(library).values()) == ["running"]
    clock.time += 2.0
    assert list(states_of(library).values()) == ["silent"]
    RunDirectory(run.path).save_result({"status": "interrupted"})
    assert list(states_of(library).values()) == ["interrupted"]
    with log.open("ab") as file:
        file.write(lines[-1])
    assert list(states_of(library).values()) == ["finished"]


def test_a_run_that_goes_on_is_no_longer_interrupted(library, whole_run, clock):
    """A log that is younger than the result that says "interrupted" means that the run goes on."""
    import os

    run = whole_run()
    lines = run.directory.events.read_bytes().splitlines(keepends=True)
    run.directory.events.write_bytes(b"".join(lines[:-1]))
    RunDirectory(run.path).save_result({"status": "interrupted"})
    os.utime(run.path / "result.json", (1000.0, 1000.0))
    clock.time = run.directory.events.stat().st_mtime
    assert list(states_of(library).values()) == ["running"]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.toml", b"\xff"),
        ("config.toml", b"schema_version = 99\n"),
        ("events.jsonl", b"no event\n"),
        ("events.jsonl", b'{"kind":"verdict"}\n'),
        ("config.toml", None),
    ],
)
def test_a_corrupt_run_among_good_ones(library, whole_run, run_maker, file, content):
    """It is shown with its reason in one line, on the list and on its page; the others are as they were."""
    good, bad = whole_run(), run_maker()
    bad.begin()
    (bad.path / file).unlink() if content is None else (bad.path / file).write_bytes(content)
    found = {each.name: each for each in library.states()}
    assert found[good.path.name].state == "finished"
    broken = found[bad.path.name]
    assert broken.state == "unreadable"
    assert "expected" in broken.words or "not valid" in broken.words
    assert "\n" not in broken.words
    page = library.run_page(broken.slug)
    assert "This run cannot be read" in page
    assert "Travelling" not in page
    assert json.loads(library.run_news(broken.slug))["state"] == "unreadable"
    assert "<h1>" in library.compared_page([broken.slug, found[good.path.name].slug], "")


def test_a_run_that_is_gone_is_no_longer_shown(library, whole_run):
    """Once its directory is deleted a run has no page."""
    run = whole_run()
    (state,) = library.states()
    assert library.run_page(state.slug)
    shutil.rmtree(run.path)
    assert library.run_page(state.slug) is None
    assert library.run_news(state.slug) is None
    assert library.states() == []


def test_a_run_that_goes_on_after_its_end_is_no_longer_at_its_end(library, whole_run, read_page, clock):
    """What a capped run measured at its end is shown until it is resumed, and then on no page, in no number."""
    run = whole_run()
    log = run.directory.events
    events, place = run.events(), len(log.read_bytes().splitlines()) - 6
    ending = [{**event, "aside": "ending"} for event in events[place:]]
    assert [event["kind"] for event in ending] == ["verdict"] * 3 + ["textbook"] * 2 + ["finished"]
    log.write_text("".join(json.dumps(event) + "\n" for event in [*events[:place], *ending]))
    (run.path / "result.json").unlink()
    clock.time = log.stat().st_mtime
    (state,) = library.states()
    assert state.state == "finished"
    assert "Mean objective (minimised) and gap to the best known" in read_page(library.run_page(state.slug)).tables
    run.emit("resumed")
    (state,) = library.states()
    assert (state.state, state.progress.status) == ("running", "")
    page = library.run_page(state.slug)
    assert "Mean objective (minimised) and gap to the best known" not in read_page(page).tables
    assert "finished: the budget is spent" not in page
    assert "resumed 1 time" in page


def test_news_that_come_just_after_reading_are_not_missed(library, whole_run, monkeypatch):
    """An event that comes between the reading and the drawing of a page makes a version that the page is not."""
    run = whole_run()
    slug = next(iter(library.runs()))
    told_state = following_module.told_state

    def told_late(*args):
        run.emit("resumed")
        return told_state(*args)

    with monkeypatch.context() as patched:
        patched.setattr(following_module, "told_state", told_late)
        page = library.run_page(slug)
    assert "resumed 1 time" not in page
    assert f'data-version="{json.loads(library.run_news(slug))["version"]}"' not in page
    assert "resumed 1 time" in library.run_page(slug)


def test_the_list_and_the_page_read_a_log_once_between_them(library, whole_run):
    """With a page open the list's numbers come from the page's reading, and after it is closed from the list's own."""
    whole_run()
    slug = next(iter(library.runs()))
    library.run_page(slug)
    following = library.runs()[slug]
    assert following._tail is None
    (state,) = library.states()
    assert (state.state, state.progress.score) == ("finished", 4.0)
    assert following.unread == 0
    following.close()
    assert library.states() == [state]
    assert following._tail is not None


def test_a_page_is_drawn_once_for_each_version(library, whole_run):
    """The same files give the same page and version; an event more gives others."""
    run = whole_run()
    (state,) = library.states()
    page = library.run_page(state.slug)
    assert library.run_page(state.slug) is page
    assert f'data-version="{state.version}"' in page
    run.emit("resumed")
    version = json.loads(library.run_news(state.slug))["version"]
    assert version != state.version
    assert f'data-version="{version}"' in library.run_page(state.slug)


def test_a_long_log_does_not_hold_up_the_list(library, whole_run, run_maker, monkeypatch):
    """With no time to read, a page shows what is read so far and says so; short logs are read first; all ends well."""
    monkeypatch.setattr(library_module, "LIST_S", float("-inf"))
    monkeypatch.setattr(library_module, "PAGE_S", float("-inf"))
    short, long = whole_run(), run_maker()
    long.begin()
    for place in range(100):
        long.batch(1, "e1", [{"code": f"a = {place}\n", "cost": 5.0}])
    assert states_of(library)[short.path.name] == "finished"
    slug = next(each.slug for each in library.states() if each.name == long.path.name)
    first = library.run_page(slug)
    assert "reading its log: 0.0 of 0.1 MB" in first
    assert 'data-version=""' in first
    assert "<figure" not in first
    pages = [library.run_page(slug) for _ in range(20)]
    assert "reading its log" not in pages[-1]
    assert 'id="progress"' in pages[-1]
    assert states_of(library)[long.path.name] == "running"


def test_only_some_runs_are_kept_in_full(library, run_maker):
    """The story of a run whose page nobody asked for lately is forgotten, and told again when asked for."""
    runs = [run_maker() for _ in range(OPEN + 1)]
    for run in runs:
        run.begin()
    slugs = [state.slug for state in library.states()]
    first = library.run_page(slugs[0])
    for slug in slugs[1:]:
        library.run_page(slug)
    again = library.run_page(slugs[0])
    assert again == first
    assert again is not first


def test_a_comparison_overlays_the_curves(library, whole_run, read_page):
    """Each run's curve is the one of its own story; what differs between settings is named."""
    from coevo.reporting.telling import tell_run

    runs = [whole_run(seed=seed) for seed in (3, 4)]
    slugs = {state.name: state.slug for state in library.states()}
    page = read_page(library.compared_page([slugs[run.path.name] for run in runs] + ["no-such-run"], "run=x"))
    for letter, run in zip("AB", runs, strict=True):
        xs, ys = page.curve(letter)
        improvements = tell_run(run.path).improvements
        assert ys[: len(improvements)] == [each.objective for each in improvements]
        assert xs[: len(improvements)] == [each.place for each in improvements]
    settings = {row["setting"]: (row["A"], row["B"]) for row in page.rows("Settings that differ")}
    assert settings == {"seed": ("3", "4")}
    assert {row["score"] for row in page.rows("The runs")} == {4.0}
    assert 'data-news="/compare/state?run=x"' in library.compared_page([], "run=x")


def test_a_run_looks_the_same_on_every_chart(library, whole_run, run_maker, read_page):
    """A run without a curve takes its place among the dashes and markers all the same."""
    run_maker().begin()
    run = whole_run()
    empty = next(state.slug for state in library.states() if state.name != run.path.name)
    full = next(state.slug for state in library.states() if state.name == run.path.name)
    page = read_page(library.compared_page([empty, full], ""))
    drawn = {(attrs["data-series"], attrs["class"]) for tag, attrs in page.tags if "data-series" in attrs}
    assert drawn == {("A", "curve s0"), ("B", "curve s1")}
    assert page.curve("A") == ([], [])


def seen(folder):
    """Every file with its time and content."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in files}


def test_nothing_is_written_into_a_run(library, whole_run):
    """While its own process holds the run's lock all pages can be had, and every file stays as it was."""
    run = whole_run()
    with run.directory.open_log(lambda: 0.0):
        before = seen(run.path)
        (state,) = library.states()
        assert library.run_page(state.slug)
        assert library.compared_page([state.slug], "")
        assert seen(run.path) == before
    assert state.state == "finished"


def test_no_text_of_a_run_becomes_markup(library, whole_run, hostile, read_page):
    """A run full of scripts adds no element to any page: list, run and comparison have one script, the server's."""
    run = whole_run(hostile)
    run.path.rename(run.path.with_name("<script>alert(1)<'\""))
    (state,) = library.states()
    for html in (library.list_page(), library.run_page(state.slug), library.compared_page([state.slug], "")):
        page = read_page(html)
        tags = [tag for tag, _ in page.tags]
        assert (tags.count("script"), tags.count("style"), tags.count("link")) == (1, 1, 1)
        assert {"img", "iframe", "object", "embed"}.isdisjoint(tags)
        assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
        assert "<script>alert(1)<'" in page.text

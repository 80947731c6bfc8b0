from dataclasses import replace
from itertools import pairwise

import pytest

from coevo.reporting.live.account import SearchAccount
from coevo.reporting.live.rendering import LivePage
from coevo.reporting.live.thinning import MOST, noted, spaced, thinned
from coevo.reporting.telling import tell_run

PAGE = LivePage("/run/x/state", "v1", "running", "running")


def test_a_story_that_is_kept_is_the_story_told_anew(whole_run):
    """After every event the story of a followed search equals the one told from the whole log."""
    run = whole_run()
    log = run.directory.events
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"")
    account = SearchAccount(run.path)
    for line in lines:
        with log.open("ab") as file:
            file.write(line)
        assert account.read(float("inf"))
        assert account.story() == tell_run(run.path)


def test_a_log_that_began_anew_is_told_anew(whole_run):
    """When the log is replaced by a shorter one, nothing of the old one is left in the story."""
    run = whole_run()
    account = SearchAccount(run.path)
    account.read(float("inf"))
    lines = run.directory.events.read_bytes().splitlines(keepends=True)
    run.directory.events.write_bytes(b"".join(lines[:9]))
    account.read(float("inf"))
    assert account.story() == tell_run(run.path)


def test_the_page_has_the_numbers_of_the_report(whole_run, read_page):
    """The live page's tables are those of the report, and it adds the throughput."""
    from coevo.reporting.run_page import run_page

    run = whole_run()
    account = SearchAccount(run.path)
    account.read(float("inf"))
    live, report = read_page(account.page(PAGE)), read_page(run_page(tell_run(run.path)))
    assert report.tables.items() <= live.tables.items()
    assert set(live.tables) - set(report.tables) == {"Candidates per minute", "Tokens per second"}
    assert live.curve("best so far") == report.curve("best so far")


def test_a_running_search_is_called_running(whole_run):
    """Before its end the page has the state that files tell instead of the report's doubt."""
    run = whole_run()
    lines = run.directory.events.read_bytes().splitlines(keepends=True)
    run.directory.events.write_bytes(b"".join(lines[:-1]))
    (run.path / "result.json").unlink()
    account = SearchAccount(run.path)
    account.read(float("inf"))
    page = account.page(PAGE)
    assert "<strong>running</strong>" in page
    assert "was killed" not in page


@pytest.mark.parametrize("count", [0, 1, MOST, MOST + 1, 2 * MOST, 1000, 12345])
def test_few_values_are_kept_and_the_last_one(count):
    """At most one more than the bound, at equal distances from the first on, ending with the last."""
    kept = spaced(range(count))
    assert len(kept) <= MOST + 1
    assert kept[:1] == tuple(range(count))[:1]
    assert kept[-1:] == tuple(range(count))[-1:]
    assert len({b - a for a, b in pairwise(kept[:-1])}) <= 1
    assert count > MOST or kept == tuple(range(count))


def test_a_long_story_is_thinned_and_says_so(whole_run):
    """Generations with their batches and steps are left out together, and the figure's caption tells."""
    from coevo.reporting.figures import valid_share

    story = tell_run(whole_run().path)
    long = replace(
        story,
        generations=tuple(replace(story.generations[0], generation=n) for n in range(500)),
        batches=tuple(replace(story.batches[0], generation=n, operator=name) for n in range(500) for name in "ab"),
    )
    few = thinned(long)
    assert len(few.generations) == len(few.batches) / 2 == 101
    assert few.generations[-1].generation == few.batches[-1].generation == 499
    assert "101 of 500 are drawn" in noted(valid_share(few), 101, 500).caption
    assert noted(valid_share(few), 7, 7).caption == valid_share(few).caption

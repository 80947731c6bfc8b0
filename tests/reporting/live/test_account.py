import json
import os
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coevo.reporting.live.account import SearchAccount
from coevo.reporting.live.rendering import LivePage
from coevo.reporting.live.thinning import MOST, MOST_DOTS, MOST_ROWS, dots, noted, shortened, spaced, thinned
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


@given(cuts=st.lists(st.integers(0, 20_000), max_size=6), text=st.text(max_size=30))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_however_a_log_comes_its_page_is_the_same(whole_run, cuts, text):
    """Read in any pieces, some of them torn lines, and drawn after each, a log gives the page of reading it at once."""
    run = whole_run(text)
    log = run.directory.events
    whole, followed = log.read_bytes(), SearchAccount(run.path)
    log.write_bytes(b"")
    places = sorted({min(cut, len(whole)) for cut in cuts} | {len(whole)})
    for begin, end in zip([0, *places], places, strict=False):
        with log.open("ab") as file:
            file.write(whole[begin:end])
        assert followed.read(float("inf"))
        at_once = SearchAccount(run.path)
        at_once.read(float("inf"))
        assert followed.page(PAGE) == at_once.page(PAGE)
    assert followed.story() == tell_run(run.path)


def test_completions_as_searches_write_them_are_in_the_lineage(whole_run):
    """Texts that reading passed over are found again, word for word, for those that the page shows."""
    run = whole_run('a "text" with , "finish":"stop" – and more\n')
    lines = [json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in run.events()]
    run.directory.events.write_text("\n".join(lines) + "\n", encoding="utf-8")
    account = SearchAccount(run.path)
    account.read(float("inf"))
    assert account.story() == tell_run(run.path)
    assert {step.answer for step in account.story().lineage} >= {'a "text" with , "finish":"stop" – and more\n'}
    run.directory.events.unlink()
    assert {step.answer for step in account.story().lineage} == {""}
    os.mkfifo(run.directory.events)
    assert {step.answer for step in account.story().lineage} == {""}
    run.directory.events.unlink()
    run.directory.events.symlink_to("/dev/zero")
    assert {step.answer for step in account.story().lineage} == {""}


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


@pytest.mark.parametrize("count", [0, 1, MOST_DOTS, MOST_DOTS + 1, 3 * MOST_DOTS, 100_001])
def test_dots_stay_where_they_are(count):
    """At most the bound and the last one are drawn, and as the run grows the others are drawn again or left out."""
    kept = dots(range(count))
    assert len(kept) <= MOST_DOTS + 1
    assert kept[-1:] == tuple(range(count))[-1:]
    assert set(dots(range(2 * count))[:-1]) & set(range(count)) <= set(kept)
    assert count > MOST_DOTS or kept == tuple(range(count))


def test_a_long_table_is_shortened_and_says_so(whole_run):
    """The last rows are kept, and the caption says where the others are."""
    from coevo.reporting.figures import valid_share

    story = tell_run(whole_run().path)
    short = valid_share(story)
    assert shortened(short) == short
    long = valid_share(replace(story, batches=tuple(replace(story.batches[0], generation=n) for n in range(200))))
    table = shortened(long).table
    assert table.rows == long.table.rows[-MOST_ROWS:]
    assert f"the last {MOST_ROWS} of 200 rows" in table.caption
    assert shortened(long).drawing == long.drawing

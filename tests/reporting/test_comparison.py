from coevo.reporting.comparison import comparison_page
from coevo.reporting.telling import tell_run


def test_runs_share_a_chart(whole_run, read_page):
    """The curves of two runs of one problem are on one chart, each with its own numbers."""
    runs = [whole_run(seed=1), whole_run(seed=2, sign=1.0)]
    page = read_page(comparison_page([tell_run(run.path) for run in runs]))
    for letter, run in zip("AB", runs, strict=True):
        costs = [e["cost"] for e in run.events() if e["kind"] == "child" and e["cost"] is not None]
        _, ys = page.curve(letter)
        assert (ys[0], ys[-1]) == (costs[0], min(costs))
    assert [tag for tag, _ in page.tags].count("svg") == 1
    assert [(row["run"], row["best on search"]) for row in page.rows("The runs")] == [("A", 4.0), ("B", 4.0)]


def test_only_settings_that_differ_are_listed(whole_run, read_page):
    """A setting in which the runs agree is left out; those of one run alone have no such table."""
    runs = [tell_run(whole_run(seed=seed, patience=patience).path) for seed, patience in ((1, 4), (2, None))]
    page = read_page(comparison_page(runs))
    rows = page.rows("Settings that differ")
    assert {(row["setting"], row["A"], row["B"]) for row in rows} == {("seed", "1", "2"), ("patience", "4", "–")}
    assert "Settings that differ" not in read_page(comparison_page(runs[:1])).tables


def test_hostile_runs_are_text(whole_run, read_page, hostile):
    """What a model wrote is not shown here, and what a setting says is escaped."""
    run = whole_run(hostile, weights={"scope": "</td><script>1</script>"})
    page = read_page(comparison_page([tell_run(run.path), tell_run(whole_run().path)]))
    assert "script" not in {tag for tag, _ in page.tags}
    assert "</td><script>1</script>" in page.text


def test_many_runs_have_names(whole_run, read_page):
    """After Z the letters begin anew with a number."""
    story = tell_run(whole_run().path)
    names = [row["run"] for row in read_page(comparison_page([story] * 28)).rows("The runs")]
    assert (names[0], names[25:]) == ("A", ["Z", "A2", "B2"])

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coevo.reporting.tables import Cell, Table, table
from coevo.reporting.text import visible

TEXT = st.text(max_size=12) | st.just("</table><script>\"'&")
CELLS = st.builds(Cell, TEXT, st.none() | st.floats(allow_nan=False), st.booleans())
TABLES = st.integers(1, 3).flatmap(
    lambda width: st.builds(
        lambda caption, heads, rows: table(caption, heads, rows),
        TEXT,
        st.lists(TEXT, min_size=width, max_size=width),
        st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=4),
    )
)


@given(made=TABLES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_table_shows_its_texts_and_exact_numbers(read_page, made: Table):
    """Whatever texts it has, a reader of the page finds them as text alone, and behind each number its exact value."""
    page = read_page(made.html)
    ((caption, (heads, *rows)),) = page.tables.items()
    assert caption == visible(made.caption).strip()
    assert [text for text, _ in heads] == [visible(head).strip() for head in made.heads]
    expected = [
        [(visible(cell.text).strip(), None if cell.value is None else repr(cell.value)) for cell in row]
        for row in made.rows
    ]
    assert rows == expected
    assert {tag for tag, _ in page.tags} <= {
        "div", "table", "caption", "thead", "tr", "th", "tbody", "td", "data", "code",
    }  # fmt: skip


def test_a_table_as_it_stands_in_a_page():
    """Columns with numbers are marked, the first cell of a row is its head, literals are code."""
    made = table("A", ("name", "n"), [[Cell("x", None, is_code=True), Cell("2", 2.0)]])
    assert made.html.split("\n") == [
        '<div class="scroll" tabindex="0" role="region" aria-label="A">',
        "<table>",
        "<caption>A</caption>",
        '<thead><tr><th scope="col">name</th><th scope="col" class="n">n</th></tr></thead>',
        "<tbody>",
        '<tr><th scope="row"><code>x</code></th><td class="n"><data value="2.0">2</data></td></tr>',
        "</tbody>",
        "</table>",
        "</div>",
    ]

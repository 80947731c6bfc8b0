import pytest

from coevo.authoring.checks_extras import unsafe_svg

SVG = "http://www.w3.org/2000/svg"
READ = "from coevo.errors import InstanceFileError\n\n\ndef read(path, **options):\n"
READS = ("problem.toml", "[heuristic]", 'reads = "text"\n\n[heuristic]')
SOLVERS = (
    "problem.toml", "[heuristic]",
    'solvers = [{ name = "exact", extra = "solvers", licence = "MIT", gives = "a proven optimum" }]\n\n[heuristic]',
)  # fmt: skip


@pytest.mark.parametrize("check", ["reference", "classics", "drawing", "reading", "solvers"])
def test_what_a_problem_does_not_have_is_skipped(scaffold, found, check):
    """The scaffold has the three functions alone."""
    assert found(scaffold, check).status == "skipped"


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("return np.full(16, 1e6)", "ok", "search, val, test"),
        ("return np.full(16, 1e6) if split == 'val' else None", "ok", "baseline: val"),
        ("return np.full(16, 1.0)", "failed", "better than the reference 1"),
        ("return np.full(15, 1e6)", "failed", "expected 16 finite numbers from reference('search'), got shape (15,)"),
        ("return np.full(16, np.inf)", "failed", "expected 16 finite numbers"),
        ("return open('nowhere')", "failed", "FileNotFoundError"),
    ],
)
def test_references(variant, found, body, status, words):
    """Finite, one per instance, beaten by nobody, and not needed for every split."""
    finding = found(variant(code=f"def reference(split):\n    {body}"), "reference")
    assert finding.status == status
    assert words in finding.text


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("{'first': lambda instance: np.array([0])}", "ok"),
        ("{'too many': lambda instance: np.arange(40)}", "failed"),
        ("{'broken': lambda instance: 1 / 0}", "failed"),
        ("['no mapping']", "failed"),
    ],
)
def test_classics(variant, found, body, status):
    """A textbook algorithm has to be feasible."""
    assert found(variant(code=f"def classics():\n    return {body}"), "classics").status == status


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f'<svg xmlns="{SVG}"><g fill="url(#a)"/></svg>', ""),
        (f'<svg xmlns="{SVG}"><g></svg>', "is not well-formed"),
        ("<svg/>", "is no SVG document"),
        (f'<svg xmlns="{SVG}"><script>alert(1)</script></svg>', "holds a <script>"),
        (f'<svg xmlns="{SVG}" onload="alert(1)"/>', "holds the attribute onload"),
        (f'<svg xmlns="{SVG}"><g href="http://x"/></svg>', "holds the attribute href"),
        (f'<svg xmlns="{SVG}" xmlns:x="http://www.w3.org/1999/xlink"><g x:href="y"/></svg>', "holds the attribute"),
        (f'<svg xmlns="{SVG}"><a href="http://x"/></svg>', "holds a <a>"),
        (f'<svg xmlns="{SVG}"><style>@import "http://x"</style></svg>', "holds a <style>"),
        (f'<svg xmlns="{SVG}"><set attributeName="onload" to="alert(1)"/></svg>', "holds a <set>"),
        (f'<svg xmlns="{SVG}"><g fill="u\\72l(http://x)"/></svg>', "holds the attribute fill"),
        (f'<?xml-stylesheet href="http://x"?><svg xmlns="{SVG}"/>', "holds <?"),
        (f'<!DOCTYPE svg [<!ENTITY a "b">]><svg xmlns="{SVG}"/>', "holds <!DOCTYPE"),
        (f'<svg xmlns="{SVG}"><g fill="url(http://x)"/></svg>', "holds the attribute fill"),
    ],
)
def test_unsafe_drawings_are_told_from_safe_ones(text, words):
    """Scripts, handlers, links and addresses; a reference within the drawing is none."""
    finding = unsafe_svg(text)
    assert words in finding
    assert bool(finding) == bool(words)


@pytest.mark.parametrize(("tag", "status"), [("circle", "ok"), ("script", "failed")])
def test_drawings(variant, found, tag, status):
    """Every drawing of the examples is looked at."""
    code = f"def draw(instance, solution):\n    return '<svg xmlns=\"{SVG}\"><{tag}/></svg>'"
    assert found(variant(code=code), "drawing").status == status


@pytest.mark.parametrize(
    ("edits", "body", "status", "words"),
    [
        ([READS], "raise InstanceFileError(path, None, 'expected jobs')", "ok", "refuses an empty"),
        ([READS], "return []", "failed", "expected InstanceFileError for an empty file, got 0 instances"),
        ([READS], "return [float(x) for x in path.read_text().split()]", "failed", "got 0 instances"),
        (
            [READS],
            "if not path.stat().st_size:\n        raise InstanceFileError(path, None, 'empty')\n    return float('x')",
            "failed",
            "for a nonsense file, got ValueError",
        ),
        ([], "raise InstanceFileError(path, None, 'expected jobs')", "failed", "say in problem.toml under `reads`"),
    ],
)
def test_reading(variant, found, edits, body, status, words):
    """What holds no instance is refused with the file's name, and what is read is said."""
    finding = found(variant(*edits, code=f"{READ}    {body}"), "reading")
    assert finding.status == status, finding.text
    assert words in finding.text


def test_a_declared_reader_has_to_be_there(variant, found):
    """Metadata promises nothing that the code does not hold."""
    assert "problem.py has no read" in found(variant(READS), "reading").text


@pytest.mark.parametrize(
    ("edits", "code", "status"),
    [
        ([SOLVERS], "def solvers(): return {'exact': None}", "ok"),
        ([SOLVERS], "def solvers(): return {'other': None}", "failed"),
        ([SOLVERS], "", "failed"),
        ([], "def solvers(): return {'exact': None}", "failed"),
    ],
)
def test_solvers(variant, found, edits, code, status):
    """The solvers of the metadata are those of the code."""
    assert found(variant(*edits, code=code), "solvers").status == status

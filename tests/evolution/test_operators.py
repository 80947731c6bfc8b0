import pytest

from coevo.errors import ContentError
from coevo.evolution.operators import load_operators, read_operator

GOOD = """+++
name = "m9"
parents = 1
evolves_model = true
+++
$task
$parents
$definition
"""


def write(tmp_path, text, name="m9.md"):
    """An operator file with this text."""
    file = tmp_path / name
    file.write_text(text)
    return file


def test_a_good_file_loads(tmp_path):
    """Front matter and body arrive, and the body takes its values."""
    operator = read_operator(write(tmp_path, GOOD))
    assert (operator.name, operator.parents, operator.evolves_model) == ("m9", 1, True)
    assert operator.prompt({"task": "T", "parents": "P", "definition": "D"}) == "T\nP\nD\n"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("$parents", "$parnets"), r":7: unknown placeholder \$parnets; known are"),
        (("$task", "costs 5$ only"), r":6: a lone \$"),
        (("$parents\n", ""), r"reads 1 parents, so its prompt needs \$parents"),
        (("parents = 1", "parents = 0"), r"has \$parents in its prompt but reads none"),
        (("$definition", ""), r"needs \$definition"),
        (("evolves_model = true\n", ""), r"front matter: evolves_model: expected a value, found none"),
        (('name = "m9"', 'name = "m9"\nextra = 1'), r"front matter: extra: there is no such field"),
        (('name = "m9"', "name = m9"), r"front matter is not valid TOML"),
        (("+++\n", "---\n"), r":1: expected TOML front matter"),
    ],
)
def test_a_bad_file_names_itself_and_its_line(tmp_path, change, expected):
    """Every fault of an operator file is found at load time and says where it is."""
    file = write(tmp_path, GOOD.replace(*change))
    with pytest.raises(ContentError, match=expected) as error:
        read_operator(file)
    assert str(file) in str(error.value)


def test_the_five_of_eoh_ship():
    """i1 reads none, e1 and e2 two, m1 and m2 one parent; only m1 and m2 evolve the model."""
    operators = load_operators(("i1", "e1", "e2", "m1", "m2"))
    assert {name: o.parents for name, o in operators.items()} == {"i1": 0, "e1": 2, "e2": 2, "m1": 1, "m2": 1}
    assert [name for name, o in operators.items() if o.evolves_model] == ["m1", "m2"]


def test_a_missing_operator_says_where_it_was_looked_for():
    """An operator without a file is a content error that lists the roots."""
    with pytest.raises(ContentError, match=r"expected a prompt file zz\.md under operators/"):
        load_operators(("zz",))

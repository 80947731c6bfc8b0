"""How a problem folder is found on another machine, or sent there."""

import shutil

import pytest

from coevo.content import find_problem, read_problem
from coevo.errors import ContentError
from coevo.evaluation import shipping
from coevo.evaluation.shipping import describe, digest_of, find_here, lay_out, pack


@pytest.fixture
def own(tiny_problem, tmp_path):
    """A copy of a problem folder, with data beside its code."""
    folder = tmp_path / "mine" / "tiny"
    shutil.copytree(tiny_problem, folder)
    (folder / "data").mkdir()
    (folder / "data" / "numbers.bin").write_bytes(bytes(range(256)))
    return folder


def test_a_bundled_problem_is_found_by_its_name():
    """Wherever coevo is installed there."""
    folder = find_problem("tsp").path
    assert find_here({**describe(folder), "path": "/not/there"}) == folder


def test_a_folder_at_the_same_path_is_found_while_it_is_the_same(own):
    """As on a shared disk; one that differs in any file is another folder."""
    described = describe(own)
    assert find_here(described) == own
    (own / "data" / "numbers.bin").write_bytes(bytes(256))
    assert find_here(described) is None
    assert find_here({**described, "path": str(own / "nothing")}) is None


def test_a_bundled_name_with_other_files_is_not_the_bundled_problem(own):
    """A user's folder may be called as one that ships with coevo."""
    mine = own.rename(own.with_name("tsp"))
    assert find_here(describe(mine)) == mine


def test_what_is_sent_arrives(own, tmp_path):
    """Every file below its name, but for what Python leaves beside code."""
    (own / "__pycache__").mkdir()
    (own / "__pycache__" / "problem.pyc").write_bytes(b"x")
    arrived = lay_out(pack(own), describe(own), tmp_path / "there")
    assert digest_of(arrived) == digest_of(own)
    assert read_problem(arrived).spec == read_problem(own).spec
    assert not (arrived / "__pycache__").exists()


def test_too_much_is_not_sent(own, monkeypatch):
    """One line, which says what to do instead."""
    monkeypatch.setattr(shipping, "MOST_FILES", 3)
    with pytest.raises(ContentError, match="on every node instead") as caught:
        pack(own)
    assert "\n" not in str(caught.value)
    monkeypatch.undo()
    monkeypatch.setattr(shipping, "MOST_BYTES", 100)
    with pytest.raises(ContentError, match="MB"):
        pack(own)

"""How a problem folder is found on another machine, or sent there."""

import os
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


def test_what_arrives_is_what_was_described(own, tmp_path):
    """A folder that was edited while the run goes on is not judged by."""
    described = describe(own)
    (own / "problem.py").write_text((own / "problem.py").read_text() + "\n# another\n")
    with pytest.raises(ContentError, match="it was changed"):
        lay_out(pack(own), described, tmp_path / "there")


@pytest.mark.parametrize("name", ["..", "", "a/b", "/tmp"])
def test_a_folder_is_laid_out_below_its_place_alone(own, tmp_path, name):
    """Whatever it is called."""
    with pytest.raises(ContentError, match="expected a problem folder"):
        lay_out(pack(own), {**describe(own), "name": name}, tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_files_of_any_age_are_sent(own, tmp_path):
    """Reproducible images set all times to 0."""
    for file in own.rglob("*"):
        os.utime(file, (0, 0))
    assert digest_of(lay_out(pack(own), describe(own), tmp_path / "there")) == digest_of(own)


def test_what_cannot_be_sent_is_named(own, tmp_path):
    """A link to a folder would be left out, and a name that is no text cannot be written: refused in one line."""
    (own / "more").symlink_to(tmp_path)
    with pytest.raises(ContentError, match=r"plain files and folders .*'more'"):
        describe(own)
    (own / "more").unlink()
    (own / os.fsdecode(b"caf\xe9")).write_text("x")
    with pytest.raises(ContentError, match="plain files and folders"):
        describe(own)


def test_a_path_that_may_not_be_read_there_is_not_the_folder(own, monkeypatch):
    """Another user's home on a node: the folder is sent then."""
    described = describe(own)

    def refuse(*_args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(shipping.Path, "is_file", refuse)
    assert find_here(described) is None

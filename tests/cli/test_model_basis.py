"""`coevo model basis`: bad input is one line and exit code 2 and leaves nothing; a basis is what it says it is."""

import logging
import sys

import pytest

from coevo.cli import main
from coevo.engines.loading import EMBEDDED_FOLDER, inspect_folder
from coevo.noise.basis import read_basis


@pytest.fixture
def basis(tmp_path, monkeypatch, capsys):
    """Runs `coevo model basis` with these arguments, as the script does; gives exit code, output and error."""
    monkeypatch.chdir(tmp_path)
    # The script's own handlers are for a process of its own.
    monkeypatch.setattr(logging, "basicConfig", lambda **settings: None)
    monkeypatch.setattr(logging.getLogger("coevo"), "setLevel", lambda level: None)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["coevo", "model", "basis", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("flags", "fragments"),
    [
        (["--from", "gradient"], ["expected gradients, random, differences for --from", "'gradient'"]),
        (["--from", "differences"], ["--from differences and --checkpoint go together"]),
        (["--checkpoint", "other"], ["--from differences and --checkpoint go together"]),
        (["--from", "differences", "--checkpoint", "other"], ["other"]),
        (["--from", "random", "--family", "tour"], ["a corpus is for --from gradients", "random"]),
        (["--from", "random", "--corpus", "texts.jsonl"], ["a corpus is for --from gradients", "random"]),
        (["--corpus", "texts.jsonl", "--family", "tour"], ["--family", "--corpus", "drop one of them"]),
        (["--corpus", "texts.jsonl"], ["expected a corpus of JSON lines in texts.jsonl"]),
        (["--family", "nothing"], ["expected families among", "'nothing'"]),
    ],
)
def test_bad_input_is_one_line(basis, tmp_path, flags, fragments):
    """What does not fit, or is not there, is named; no file is begun."""
    code, output, error = basis("embedded", "--to", "new.basis", *flags)
    assert (code, output) == (2, "")
    (line,) = error.splitlines()
    assert line.startswith("coevo: ")
    for fragment in fragments:
        assert fragment in line
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_model_is_one_line(basis, tmp_path):
    """A name that is no folder is told."""
    code, output, error = basis("no/such/model", "--to", "new.basis")
    assert (code, output, len(error.splitlines())) == (2, "", 1)
    assert "no/such/model" in error
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_not_written_over(basis, tmp_path):
    """Whatever it holds stays."""
    file = tmp_path / "old.basis"
    file.write_text("mine")
    code, output, error = basis("embedded", "--to", file)
    assert (code, output, len(error.splitlines())) == (2, "", 1)
    assert f"expected a new file for --to, got {file}, which is taken" in error
    assert file.read_text() == "mine"


@pytest.mark.parametrize("flag", ["--vectors", "--rank", "--batch"])
def test_no_vectors_are_no_basis(basis, tmp_path, flag):
    """A count of zero is refused under its own name."""
    code, _, error = basis("embedded", "--to", "new.basis", flag, 0)
    assert code == 2
    assert f"'{flag}'" in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("method", ["random", "gradients"])
def test_a_small_basis_of_the_embedded_model(basis, tmp_path, method):
    """It covers every tensor in its shape, has the vectors and the rank asked for, and says so."""
    file = tmp_path / "small.basis"
    code, output, error = basis(
        "embedded", "--to", file, "--from", method, "--vectors", 2, "--rank", 2, "--batch", 1, "--seed", 5
    )
    assert (code, error) == (0, "")
    made, tensors = read_basis(file), inspect_folder(EMBEDDED_FOLDER).tensors
    assert set(made.parts) == set(tensors)
    assert (made.vectors, made.rank, made.origin.method, made.origin.seed) == (2, 2, method, 5)
    assert made.elements == sum(info.size for info in tensors.values())
    first, second = output.splitlines()
    assert first.startswith(f"{file}: 2 vectors ({method}), rank 2, ")
    assert first.endswith(f"identity {made.identity:016x}")
    assert f"covers {made.elements:,} parameters in {len(tensors)} tensors" in second

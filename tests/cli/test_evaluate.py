"""What `coevo evaluate` prints."""

import pytest


@pytest.fixture
def measured(coevo, tiny_problem, tmp_path):
    """Evaluates a function body on the tiny problem's search split; gives the finished command."""

    def evaluate(body):
        file = tmp_path / "heuristic.py"
        file.write_text(f"def priority(durations, worths):\n    {body}\n")
        return coevo("evaluate", file, "--problem", tiny_problem, "--workers", 1)

    return evaluate


def test_a_valid_heuristic_has_a_table(measured):
    """A row for each instance, and the mean below."""
    done = measured("return worths / durations")
    assert done.exit_code == 0
    assert done.stdout.count("search-") >= 4
    assert "tiny search: mean objective" in done.stdout


def test_what_fails_everywhere_is_said_once(measured):
    """A file that is wrong as a whole is one line that says why, without a table of failures, and exit code 1."""
    done = measured("return 1 / 0")
    assert done.exit_code == 1
    (line,) = done.stdout.strip().splitlines()
    assert line.startswith("crash: ZeroDivisionError in line 2: division by zero (on instance ")

"""Law: bad input of any kind is one line on standard error, exit code 2, and nothing on disk."""

import fcntl
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def coevo(*arguments, cwd):
    """Run the command and return the finished process."""
    return subprocess.run(
        [sys.executable, "-m", "coevo", *map(str, arguments)], cwd=cwd, capture_output=True, text=True
    )


def refused(process, *fragments):
    """Check the form of a refusal, and that its one line says what it should."""
    assert process.returncode == 2, process.stderr
    lines = process.stderr.strip().splitlines()
    assert len(lines) == 1, process.stderr
    assert lines[0].startswith("coevo: ")
    for fragment in fragments:
        assert fragment in lines[0]


@pytest.fixture
def here(tmp_path):
    """An empty working directory that must stay empty."""
    folder = tmp_path / "here"
    folder.mkdir()
    yield folder
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("flags", "fragments"),
    [
        (["--problem", "tps"], ["'tps'", "known: ", "tsp"]),
        (["--model", "no/such/model"], ["no/such/model"]),
        (["--budget", "0"], ["budget", "at least 1"]),
        (["--es", "maybe"], ["es: ", "'dense', 'low-rank' or 'off'"]),
        (["--sigma", "nan"], ["evolution_strategy.sigma"]),
        (["--alpha", "inf"], ["evolution_strategy.alpha"]),
        (["--antithetic", "--members", "9"], ["must be even, got 9", "take 10"]),
        (["--subspaces", "6", "--members", "10"], ["6 subspaces", "take more members or fewer subspaces"]),
        (["--rank", "2"], ["rank 2", "add --es low-rank"]),
        (["--scope", "("], ["weights.scope", "regular expression"]),
        (["--recipe", "esopt"], ["esopt-eoh-1000"]),
        (["--start", "nothing.py"], ["select_next_node", "nothing.py"]),
        (["--config", "nothing.toml"], ["--config", "nothing.toml"]),
        (["--engine", "scripted", "--model", "nothing.json"], ["nothing.json"]),
        (["--method", "grammar", "--temperature", "2"], ["asks no model", "temperature 2.0"]),
        (["--method", "grammar", "--guard"], ["asks no model", "guard"]),
        (["--es", "off", "--sigma", "0.1"], ["es off moves no weights", "sigma 0.1"]),
        (["--noise-only", "--spread", "run"], ["makes no updates", "spread run"]),
        (["--schedule", "constant", "--sigma-end", "0.1"], ["has no end", "sigma_end 0.1"]),
        (["--method", "grammar", "--es", "dense"], ["method grammar", "got es dense", "drop es"]),
        (["--method", "grammar", "--engine", "scripted"], ["--method grammar", "scripted"]),
        (["--dry-run", "--track", "wanbd"], ["tensorboard", "--track", "'wanbd'"]),
    ],
)
def test_a_bad_flag_is_refused(here, flags, fragments):
    """Every unusable flag of a search names itself and what would do."""
    refused(coevo("search", *flags, cwd=here), *fragments)


@pytest.mark.parametrize("missing", ["problem.toml", "problem.py", "description.md"])
def test_an_incomplete_problem_folder_is_refused(here, tiny_problem, tmp_path, missing):
    """The missing file is named; without a problem.toml the folder is no problem at all."""
    folder = tmp_path / "broken"
    shutil.copytree(tiny_problem, folder)
    (folder / missing).unlink()
    refused(
        coevo("search", "--problem", folder, cwd=here),
        "broken",
        "problem.toml" if missing == "problem.toml" else missing,
    )


def test_a_problem_whose_baseline_fails_is_refused(here, tiny_problem, tiny_script, tmp_path):
    """The message names the baseline and how it fails."""
    folder = tmp_path / "broken"
    shutil.copytree(tiny_problem, folder)
    (folder / "baselines" / "bad.py").write_text("def priority(durations, worths):\n    return 1 / 0\n")
    process = coevo("search", "--problem", folder, "--engine", "scripted", "--model", tiny_script, cwd=here)
    refused(process, "bad.py", "crash", "ZeroDivisionError")


def test_a_problem_whose_reference_fails_is_refused_before_the_search(here, tiny_problem, tiny_script, tmp_path):
    """A fault that would only show at the end of a search shows before anything is charged."""
    folder = tmp_path / "broken"
    shutil.copytree(tiny_problem, folder)
    with (folder / "problem.py").open("a") as file:
        file.write("\n\ndef reference(split):\n    return {}[split]\n")
    process = coevo("search", "--problem", folder, "--engine", "scripted", "--model", tiny_script, cwd=here)
    refused(process, "problem.py", "reference('search') fails", "KeyError")


@pytest.mark.parametrize(
    ("code", "fragments"),
    [
        ("def reference(split):\n    return [float('nan')]\n", ["reference('search')", "finite"]),
        ("def reference(split):\n    return ['a']\n", ["reference('search')"]),
        ("def reference(split):\n    raise SystemExit(0)\n", ["reference('search')", "SystemExit"]),
        ("def classics():\n    return [1]\n", ["classics()"]),
        ("def classics():\n    return {'x': 3}\n", ["classics()", "names to functions"]),
    ],
)
def test_a_malformed_optional_function_is_refused_before_the_search(
    here, tiny_problem, tiny_script, tmp_path, code, fragments
):
    """What a problem offers for the end of a search is looked at before the search."""
    folder = tmp_path / "broken"
    shutil.copytree(tiny_problem, folder)
    with (folder / "problem.py").open("a") as file:
        file.write(f"\n\n{code}")
    process = coevo("search", "--problem", folder, "--engine", "scripted", "--model", tiny_script, cwd=here)
    refused(process, "problem.py", *fragments)


def test_a_failing_textbook_algorithm_does_not_cost_the_result(tiny_problem, tiny_script, tmp_path):
    """A comparison that raises, or gives no number, is reported as failed; the search keeps its result."""
    folder = tmp_path / "problem"
    shutil.copytree(tiny_problem, folder)
    with (folder / "problem.py").open("a") as file:
        file.write("\n\ndef classics():\n    return {'broken': lambda instance: 1 / 0}\n")
    flags = ["--engine", "scripted", "--model", tiny_script, "--budget", "12", "--json"]
    process = coevo("search", "--problem", folder, *flags, cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    nothing = {"objective": None, "spread": None, "gap": None}
    assert json.loads(process.stdout)["comparisons"]["broken"]["search"] == nothing


def test_the_grammar_refuses_a_problem_it_does_not_know(here, tiny_problem):
    """The control arm says which kinds it has no heuristics for, instead of failing every candidate."""
    refused(coevo("search", "--problem", tiny_problem, "--method", "grammar", cwd=here), "(weights, values)", "vector")


def test_a_budget_out_of_reach_is_refused(here):
    """A slip of the keyboard does not plan for a million years."""
    refused(coevo("search", "--budget", "1" + "0" * 15, "--dry-run", cwd=here), "budget")


@pytest.mark.parametrize("data", ['{"a": "text"}', '{"a": [1, 2]}'])
def test_a_problem_with_unplain_instances_is_refused(here, tiny_problem, tiny_script, tmp_path, data):
    """Instances cross the sandbox pipe as bytes: anything but numbers and arrays is refused at the start."""
    folder = tmp_path / "broken"
    shutil.copytree(tiny_problem, folder)
    text = (folder / "problem.py").read_text()
    (folder / "problem.py").write_text(
        text.replace('{"durations": rng.random(12) + 0.1, "worths": rng.random(12)}', data)
    )
    process = coevo("search", "--problem", folder, "--engine", "scripted", "--model", tiny_script, cwd=here)
    refused(process, "broken", "expected numbers or numeric arrays")


def test_a_failing_start_file_is_refused(here, tiny_problem, tiny_script, tmp_path):
    """The user's own heuristic is not dropped silently when it does not run."""
    mine = tmp_path / "mine.py"
    mine.write_text("def priorty(durations, worths):\n    return worths\n")
    flags = ["--problem", tiny_problem, "--engine", "scripted", "--model", tiny_script, "--start", mine]
    refused(coevo("search", *flags, cwd=here), "--start file 1", "defines no function priority")


def test_a_start_file_the_model_cannot_read_is_refused(here, tmp_path):
    """The slot codec shows one function; a file that needs more is not silently replaced by nothing."""
    mine = tmp_path / "mine.py"
    mine.write_text(
        "import math\n\n\ndef select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):\n"
        "    return min(unvisited_nodes, key=lambda n: math.sqrt(distance_matrix[current_node, n]))\n"
    )
    refused(coevo("search", "--start", mine, cwd=here), "cannot read --start file 1", "one function")


def test_pickled_weights_are_refused(here, tmp_path):
    """A folder with a pickle instead of safetensors is not loaded."""
    folder = tmp_path / "pickled"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}')
    (folder / "tokenizer.json").write_text("{}")
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    refused(coevo("search", "--model", folder, cwd=here), "safetensors", "pickled")


def test_an_unreadable_model_folder_is_refused(here, tmp_path):
    """A folder that holds no model says what was expected there."""
    folder = tmp_path / "empty"
    folder.mkdir()
    refused(coevo("search", "--model", folder, cwd=here), "empty", "config.json")


@pytest.mark.parametrize("command", ["resume"])
def test_what_is_not_a_run_is_refused(here, tmp_path, command):
    """Neither an empty folder nor a missing one is a run, and neither is changed."""
    refused(coevo(command, tmp_path, cwd=here), "expected a run directory")
    refused(coevo(command, tmp_path / "nowhere", cwd=here), "does not exist")


def test_a_run_in_use_is_refused(here, tmp_path, tiny_problem, tiny_script):
    """A run that another process writes is left alone."""
    runs = tmp_path / "runs"
    flags = ["--problem", tiny_problem, "--engine", "scripted", "--model", tiny_script, "--budget", "12"]
    assert coevo("search", *flags, "--runs-dir", runs, cwd=here).returncode == 0
    run = next(runs.iterdir())
    (run / "result.json").unlink()
    before = (run / "events.jsonl").read_bytes()
    with (run / "events.jsonl").open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        refused(coevo("resume", run, cwd=here), "in use")
    assert (run / "events.jsonl").read_bytes() == before


def test_a_misspelt_placeholder_is_refused(tmp_path):
    """An operator file of the user's with an unknown placeholder stops the search before anything is asked."""
    from coevo.errors import ContentError
    from coevo.evolution.operators import read_operator

    bundled = Path(__file__).parents[2] / "operators" / "m1.md"
    file = tmp_path / "m1.md"
    file.write_text(bundled.read_text().replace("$parents", "$parent"))
    with pytest.raises(ContentError, match=r"m1\.md:\d+: unknown placeholder \$parent;"):
        read_operator(file)


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["search", "--nope"], "--nope"),
        (["search", "--budget", "many"], "--budget"),
        (["serch"], "serch"),
        (["evaluate"], "Missing argument"),
        (["problem", "check"], "Missing argument"),
    ],
)
def test_a_command_line_that_cannot_be_read_is_one_line(arguments, fragment, here):
    """No box is drawn around it, and it names the help that tells more."""
    refused(coevo(*arguments, cwd=here), fragment, "--help")

"""Nobody waits before a silent terminal: checks are named as they begin, and standard output has findings alone."""

import json

import pytest

from coevo.authoring import env_contract
from coevo.authoring.env_contract import CHECKS
from coevo.cli.attending import attended


def examining(log, begin):
    """Two checks; what happens is logged."""
    try:
        for name in ("one", "two"):
            begin(name)
            log.append(f"ran {name}")
            yield name
    finally:
        log.append("closed")


def test_each_beginning_is_said_before_the_finding_is_there(capsys):
    """On lines of their own where there is no terminal."""
    seen = []
    for name in attended(lambda begin: examining([], begin), in_lines=True):
        seen.append((name, capsys.readouterr()))
    assert [(name, said.out, said.err) for name, said in seen] == [
        ("one", "", "checking one …\n"),
        ("two", "", "checking two …\n"),
    ]


def test_a_quiet_command_says_nothing_without_a_terminal(capsys):
    """Findings are all there is."""
    assert list(attended(lambda begin: examining([], begin), in_lines=False)) == ["one", "two"]
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_what_is_being_checked(monkeypatch, capsys):
    """The name stands there while the check runs; findings come as before."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert list(attended(lambda begin: examining([], begin), in_lines=True)) == ["one", "two"]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("is_terminal", [False, True])
def test_findings_that_are_not_read_leave_nothing_open(is_terminal, monkeypatch):
    """Whoever stops early closes what works through the checks."""
    if is_terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    log = []
    findings = attended(lambda begin: examining(log, begin), in_lines=True)
    next(findings)
    findings.close()
    assert log == ["ran one", "closed"]


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_env_check_names_every_check_on_standard_error(more, coevo, monkeypatch, tmp_path):
    """In its order, whatever the findings are printed as; one that is skipped is named, too."""
    coevo("env", "new", "mine", "--to", tmp_path)
    monkeypatch.setattr(env_contract, "CHECKS", CHECKS[:3])
    result = coevo("env", "check", tmp_path / "mine", *more)
    assert result.stderr.splitlines() == [f"checking {check.name} …" for check in CHECKS[:3]]
    if more:
        found = json.loads(result.stdout)["checks"]
        assert [each["check"] for each in found] == [check.name for check in CHECKS[:3]]
    else:
        assert "checking" not in result.stdout

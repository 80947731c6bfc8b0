from email.message import Message

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.reporting.live.gate import refusal

OWN = ("127.0.0.1:8642", "localhost:8642", "[::1]:8642")


def asked(method="GET", target="/", port=8642, **headers):
    """The status of a refusal, or None."""
    message = Message()
    for name, values in {"Host": OWN[0], **headers}.items():
        for value in [values] if isinstance(values, str) else values or []:
            message[name.replace("_", "-")] = value
    found = refusal(method, target, message, port)
    return found and found[0]


@pytest.mark.parametrize("host", [*OWN, "LocalHost:8642"])
def test_this_machine_may_ask(host):
    """By each of its names, with what browsers send for a typed address and for the page's own requests."""
    assert asked(Host=host) is None
    assert asked(Host=host, Sec_Fetch_Site="none") is None
    assert asked("HEAD", Host=host, Origin=f"http://{host}", Sec_Fetch_Site="same-origin") is None


@given(host=st.one_of(st.text(), st.from_regex(r"\A[a-z0-9.-]+(:[0-9]+)?\Z")))
def test_every_other_host_is_refused(host):
    """A name that was made to resolve to this machine gets nothing."""
    if host.strip().lower() not in OWN:
        assert asked(Host=host) == 421


@pytest.mark.parametrize(
    "host",
    [None, [OWN[0], OWN[0]], [OWN[0], "evil.example"], "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8642.evil.example"],
)
def test_a_host_that_is_missing_twofold_or_near_is_refused(host):
    """Exactly one Host, with this port."""
    assert asked(Host=host) == 421


def test_port_80_needs_no_number():
    """Browsers leave the number of the usual port out."""
    assert asked(Host="localhost", port=80) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:8642"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": [f"http://{OWN[0]}", "http://evil.example"]},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": ["none", "cross-site"]},
    ],
)
def test_other_sites_are_refused(headers):
    """A request that another page caused gets nothing, whatever it asks for."""
    assert asked(**headers) == 403


@given(method=st.text())
def test_other_methods_are_refused(method):
    """Nothing but GET and HEAD."""
    if method not in ("GET", "HEAD"):
        assert asked(method) == 405


@pytest.mark.parametrize("target", ["http://127.0.0.1:8642/", "//evil.example/", "*", "", "evil"])
def test_only_paths_are_asked_for(target):
    """A proxy's form of a request is refused."""
    assert asked(target=target) == 400

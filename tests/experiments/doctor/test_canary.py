"""ES reaches every parameter: on engines that are made to fail the check, and in a replay of the real model."""

from dataclasses import replace

import pytest

from coevo.engines.loading import EMBEDDED_FOLDER, inspect_folder
from coevo.engines.policy import WeightPolicy
from coevo.experiments.doctor.canary import Tracks, canary_update, es, needs_bytes, track
from coevo.interfaces import Completion, Request

REQUEST = Request("doctor", "x", 1)
SIGMA = 0.01
TRACKS = Tracks(fingerprint=2, moving=5, still=(), strayed=())


class Patient:
    """An engine of one number, which an update makes 2; with a fault of a kind.

    Args:
        fault: "deaf" members answer like the base; "trace" is left by them; "stuck" weights never move; "other" bits
            after an update; "fresh" weights that are others already.
        hears: Smallest σ that shows in an answer.
    """

    def __init__(self, fault: str = "", hears: float = 0.0) -> None:
        self.fault, self.hears, self.is_closed = fault, hears, False
        self.weights = 7 if fault == "fresh" else 1

    def generate(self, requests):
        """One answer each; a member's depends on its σ."""
        for request in requests:
            member = request.member
            is_heard = member is not None and member.sigma >= self.hears and self.fault != "deaf"
            yield Completion(request.id, "otherwise" if is_heard else "base", "stop", 1)
            self.weights += member is not None and self.fault == "trace"

    def commit(self, update):
        """Move."""
        assert update == canary_update(SIGMA)
        self.weights = {"stuck": self.weights, "other": 3}.get(self.fault, 2)
        return self.weights

    def fingerprint(self):
        """The number."""
        return self.weights

    def export(self, folder):
        """Not asked for."""
        raise NotImplementedError

    def close(self):
        """Release."""
        self.is_closed = True


@pytest.fixture
def examined():
    """Runs the check on an engine, and a second one for the fresh start; both are closed when it is done."""

    def run(first="", second="", tracks=TRACKS, hears=0.0):
        served, again = Patient(first, hears), Patient(second)
        opened = []
        finding = es(served, REQUEST, SIGMA, tracks, lambda: opened.append(again) or again)
        assert all(engine.is_closed for engine in opened)
        assert served.is_closed or not opened
        return finding

    return run


def test_an_engine_that_moves_and_comes_back_passes(says, examined):
    """With the σ at which it was heard, and the number of tensors that were looked at."""
    says(examined(), "pass", "from σ 0.05 on", "leave no trace", "each of 5 tensors")
    says(examined(hears=0.5), "pass", "from σ 1 on")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"first": "deaf"}, "members answer like the unperturbed model, even at σ 1"),
        ({"first": "trace"}, "members leave a trace: fingerprint 0000000000000001 became"),
        ({"first": "stuck"}, "an update leaves the fingerprint as it was"),
        ({"second": "other"}, "the same update gives a new engine 0000000000000003, not 0000000000000002"),
        ({"second": "fresh"}, "the model opened anew has fingerprint 0000000000000007"),
        ({"tracks": replace(TRACKS, fingerprint=9)}, "replaying an update gives 0000000000000009"),
        ({"tracks": replace(TRACKS, still=("a.weight", "b.weight"))}, "does not reach a.weight and 1 more"),
        ({"tracks": replace(TRACKS, strayed=("a.weight",))}, "moves a.weight, outside the scope"),
    ],
)
def test_a_fault_is_told(says, examined, fault, words):
    """P1, P2, P6, P30: a parameter that noise or updates miss, a trace, and other bits at the second time."""
    says(examined(**fault), "fail", words, advice="do not evolve")


def test_without_room_for_a_replay_the_rest_is_looked_at(says, examined):
    """That single tensors were not, is a warning."""
    says(examined(tracks=None), "warn", "leave no trace", "not looked at", advice="host memory")


def test_a_replay_of_the_embedded_model_reaches_each_tensor():
    """Every tensor by itself changes the fingerprint; in a narrower scope those of the scope do, and no other."""
    update = canary_update(5e-3)
    full = track(EMBEDDED_FOLDER, WeightPolicy(), update)
    tensors = inspect_folder(EMBEDDED_FOLDER).tensors
    assert (full.still, full.strayed) == ((), ())
    assert full.moving == len(tensors)
    narrow = track(EMBEDDED_FOLDER, WeightPolicy(scope="linear"), update)
    assert (narrow.still, narrow.strayed) == ((), ())
    assert 0 < narrow.moving < full.moving
    assert narrow.fingerprint != full.fingerprint
    assert needs_bytes(EMBEDDED_FOLDER, WeightPolicy()) == 4 * sum(info.size for info in tensors.values())


def test_an_update_too_small_to_show_is_told():
    """A step that rounding swallows everywhere reaches no tensor."""
    still = track(EMBEDDED_FOLDER, WeightPolicy(), replace(canary_update(1.0), coefficients=(0.0, 0.0)))
    assert len(still.still) == still.moving > 0

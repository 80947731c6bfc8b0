import json

from hypothesis import given
from hypothesis import strategies as st

from coevo.engines import wire
from coevo.interfaces import Completion, Member, Message, Request, Sampling, Update

WORDS = st.integers(0, 2**64 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
MEMBERS = st.builds(
    Member, run_key=WORDS, step=WORDS, direction=WORDS, sign=st.sampled_from([1, -1]), sigma=FLOATS, basis=WORDS
)
SAMPLINGS = st.builds(
    Sampling,
    temperature=FLOATS,
    top_p=FLOATS,
    max_tokens=st.integers(1, 10**6),
    top_k=st.integers(0, 10**6),
    presence_penalty=FLOATS,
    stop=st.lists(st.text(), max_size=3).map(tuple),
)
MESSAGES = st.builds(Message, role=st.sampled_from(["system", "user", "assistant"]), content=st.text())
REQUESTS = st.builds(
    Request,
    id=st.text(),
    text=st.text(),
    seed=WORDS,
    member=st.none() | MEMBERS,
    sampling=SAMPLINGS,
    messages=st.lists(MESSAGES, max_size=4).map(tuple),
)


@st.composite
def updates(draw):
    """Updates of any length."""
    pairs = draw(st.lists(st.tuples(WORDS, FLOATS), max_size=5))
    return Update(draw(WORDS), draw(WORDS), tuple(d for d, _ in pairs), tuple(c for _, c in pairs), basis=draw(WORDS))


def over_the_wire(values):
    """What the other side gets."""
    return json.loads(json.dumps(values))


@given(REQUESTS)
def test_requests_arrive_unchanged(request):
    """64-bit seeds, every float and every character survive."""
    assert wire.unpack_request(over_the_wire(wire.pack_request(request))) == request


@given(updates())
def test_updates_arrive_unchanged(update):
    """Coefficients are exact on the other side, or replicas would drift apart."""
    assert wire.unpack_update(over_the_wire(wire.pack_update(update))) == update


@given(st.text(), st.text(), st.sampled_from(["stop", "length"]), st.integers(0, 10**6))
def test_completions_arrive_unchanged(request_id, text, finish, count):
    """Broken characters a model may write survive as well."""
    completion = Completion(request_id, text, finish, count)
    assert wire.unpack_completion(over_the_wire(wire.pack_completion(completion))) == completion

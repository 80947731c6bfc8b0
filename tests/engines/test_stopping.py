from hypothesis import given
from hypothesis import strategies as st

from coevo.engines.stopping import StopWatch, cut

PIECES = st.lists(st.sampled_from(["a", "b", " ", "ab ", "", "\n", "long " * 20]), max_size=300)
STOPS = st.lists(st.text("ab \n", min_size=1, max_size=6), min_size=1, max_size=3).map(tuple)


@given(PIECES.map("".join), STOPS)
def test_a_text_is_cut_before_its_first_stop_text(text, stops):
    """What is left has none of them, and is followed by one in the whole text; without any the text is not cut."""
    before = cut(text, stops)
    if before is None:
        assert not any(stop in text for stop in stops)
    else:
        assert text.startswith(tuple(before + stop for stop in stops))
        assert not any(text.startswith(stops, place) for place in range(len(before)))


def test_without_stop_texts_nothing_is_cut():
    """Not even an empty text."""
    assert cut("anything", ()) is None
    assert cut("", ()) is None


@given(PIECES, STOPS, st.booleans())
def test_a_watch_sees_what_the_whole_answer_shows(pieces, stops, is_stripped):
    """Token by token, though only the last ones are decoded, and by a decoder that strips a leading blank as well."""

    def decode(tokens):
        text = "".join(pieces[token] for token in tokens)
        return text.removeprefix(" ") if is_stripped else text

    watch, answer = StopWatch(decode, stops), []
    for token in range(len(pieces)):
        answer.append(token)
        is_there = cut(decode(answer), stops) is not None
        assert watch.sees(answer) == is_there
        if is_there:
            break


def test_a_long_answer_is_decoded_in_pieces():
    """What is decoded for a token does not grow with the answer."""
    longest = 0

    def decode(tokens):
        nonlocal longest
        longest = max(longest, len(tokens))
        return "x" * len(tokens)

    watch = StopWatch(decode, ("stop",))
    assert not any(watch.sees(range(count)) for count in range(2000))
    assert longest < 300

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.noise import oracle
from coevo.noise.philox import fill_words

KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
"""Counter, key and output of the Random123 distribution (kat_vectors, philox4x32 with 10 rounds)."""

WORDS = st.integers(0, 2**64 - 1)


def numbers(text):
    """The 32-bit words of a line of hexadecimal numbers."""
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "output"), KNOWN_ANSWERS)
def test_kernel_gives_the_known_answers(counter, key, output):
    """The compiled Philox reproduces the vectors published by its authors."""
    c0, c1, c2, c3 = numbers(counter)
    k0, k1 = numbers(key)
    words = np.empty(4, np.uint32)
    fill_words(words, 1, np.uint64(c0 | c1 << 32), np.uint64(k0 | k1 << 32), np.uint64(c2 | c3 << 32))
    assert words.tolist() == numbers(output)


@pytest.mark.parametrize(("counter", "key", "output"), KNOWN_ANSWERS)
def test_oracle_gives_the_known_answers(counter, key, output):
    """The plain Philox reproduces the vectors published by its authors."""
    arrays = [np.array([word], np.uint64) for word in numbers(counter)]
    words = oracle.philox(arrays, tuple(numbers(key)))
    assert [int(word[0]) for word in words] == numbers(output)


@given(first=st.integers(0, 2**61 - 70), key=WORDS, tensor=WORDS, count=st.integers(1, 70))
def test_kernel_counts_on_from_any_counter(first, key, tensor, count):
    """Consecutive counters carry from the low into the high word exactly as 64-bit numbers do."""
    words = np.empty(4 * count, np.uint32)
    fill_words(words, count, np.uint64(first), np.uint64(key), np.uint64(tensor))
    counters = np.uint64(first) + np.arange(count, dtype=np.uint64)
    low, high = counters & np.uint64(0xFFFFFFFF), counters >> np.uint64(32)
    name = [np.full(count, half, np.uint64) for half in (tensor & 0xFFFFFFFF, tensor >> 32)]
    expected = oracle.philox([low, high, *name], (key & 0xFFFFFFFF, key >> 32))
    assert words.reshape(count, 4).T.tolist() == [row.tolist() for row in expected]

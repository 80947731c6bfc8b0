import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from coevo.engines.sampling import Sampler
from coevo.interfaces import Sampling

LOGITS = arrays(np.float32, st.integers(1, 60), elements=st.sampled_from([-30.0, -3.0, -1.0, 0.0, 0.5, 2.0, 9.0]))
SEEDS = st.integers(0, 2**64 - 1)


def reference(logits, sampling, uniform, seen=()):
    """The definition, written out: penalise, keep the k likeliest, sort by falling probability, cut, invert."""
    logits = logits - np.float32(sampling.presence_penalty) * np.isin(np.arange(len(logits)), list(seen))
    kept = np.sort(np.argsort(-logits, kind="stable")[: sampling.top_k or None])
    if sampling.temperature == 0:
        return int(np.argmax(logits))
    likely = logits[kept]
    weights = np.exp((likely - likely.max()) / np.float32(sampling.temperature)).astype(np.float64)
    order = np.argsort(-weights, kind="stable")
    cumulative = np.cumsum(weights[order])
    last = min(int(np.searchsorted(cumulative, sampling.top_p * weights.sum())), len(order) - 1)
    rank = min(int(np.searchsorted(cumulative, uniform * cumulative[last], side="right")), last)
    return int(kept[order[rank]])


TEMPERATURES, TOP_PS = st.sampled_from([0.3, 1.0, 2.5]), st.sampled_from([1e-9, 0.5, 0.98, 1.0])


@given(LOGITS, SEEDS, TEMPERATURES, TOP_PS)
def test_draws_follow_the_definition(logits, seed, temperature, top_p):
    """Whatever the logits, ties and long tails included, the quick way draws what the definition says."""
    sampling = Sampling(temperature=temperature, top_p=top_p)
    uniforms = np.random.Generator(np.random.Philox(key=seed)).random(3)
    sampler = Sampler(sampling, seed)
    assert [sampler.draw(logits) for _ in range(3)] == [reference(logits, sampling, u) for u in uniforms]


@given(LOGITS, SEEDS, TEMPERATURES | st.just(0.0), TOP_PS, st.integers(0, 70), st.sampled_from([-0.7, 0.0, 1.5, 40.0]))
def test_top_k_and_penalty_follow_the_definition(logits, seed, temperature, top_p, top_k, penalty):
    """Each draw counts for the next ones; the logits themselves are left as they were."""
    sampling = Sampling(temperature, top_p, top_k=top_k, presence_penalty=penalty)
    before, sampler, seen = logits.copy(), Sampler(sampling, seed), []
    for uniform in np.random.Generator(np.random.Philox(key=seed)).random(5):
        expected = reference(logits, sampling, uniform, seen)
        assert sampler.draw(logits) == expected
        seen.append(expected)
    assert np.array_equal(logits, before)


@given(LOGITS, SEEDS, TEMPERATURES)
def test_the_likeliest_alone_is_greedy(logits, seed, temperature):
    """Top-k 1 takes what temperature 0 takes, the first of equals included."""
    assert Sampler(Sampling(temperature, top_k=1), seed).draw(logits) == int(np.argmax(logits))


@given(LOGITS, SEEDS, TEMPERATURES, st.integers(0, 5))
def test_a_top_k_of_all_is_none(logits, seed, temperature, more):
    """As many tokens as there are, or more, keep every draw what it is without."""
    draws = [Sampler(Sampling(temperature, top_k=k), seed).draw(logits) for k in (0, len(logits) + more)]
    assert draws[0] == draws[1]


def test_equal_tokens_are_kept_by_number():
    """Exactly k tokens are kept; the nucleus is a share of them, not of all."""
    logits = np.array([1.0, 2.0, 1.0, 1.0], np.float32)
    drawn = {
        top_p: {Sampler(Sampling(top_p=top_p, top_k=3), seed).draw(logits) for seed in range(200)}
        for top_p in (0.5, 1.0)
    }
    assert drawn == {0.5: {1}, 1.0: {0, 1, 2}}


def test_a_large_penalty_forbids_repetition():
    """What has been drawn comes again only after everything else; the prompt is no part of it."""
    sampler = Sampler(Sampling(temperature=0.0, presence_penalty=100.0), 0)
    assert [sampler.draw(np.array([3.0, 1.0, 2.0], np.float32)) for _ in range(4)] == [0, 2, 1, 0]


def test_frequencies_are_the_probabilities():
    """At temperature 1 without a cut, 20,000 draws lie within four standard errors of the softmax."""
    logits = np.log(np.array([0.5, 0.25, 0.2, 0.05], np.float32))
    sampler = Sampler(Sampling(top_p=1.0), seed=3)
    counts = np.bincount([sampler.draw(logits) for _ in range(20_000)], minlength=4) / 20_000
    expected = np.exp(logits)
    assert np.all(np.abs(counts - expected) < 4 * np.sqrt(expected * (1 - expected) / 20_000))


def test_the_nucleus_is_the_smallest_set_that_reaches_top_p():
    """With probabilities .5 .3 .2, top-p 0.8 keeps two tokens and 0.81 all three."""
    logits = np.log(np.array([0.2, 0.5, 0.3], np.float32))
    drawn = {
        top_p: {Sampler(Sampling(top_p=top_p), seed).draw(logits) for seed in range(200)} for top_p in (0.79, 0.81)
    }
    assert drawn == {0.79: {1, 2}, 0.81: {0, 1, 2}}


@given(LOGITS, SEEDS)
def test_temperature_zero_takes_the_first_largest(logits, seed):
    """Greedy uses no random number: any seed gives the same token."""
    assert Sampler(Sampling(temperature=0.0), seed).draw(logits) == int(np.argmax(logits))


@pytest.mark.parametrize("other", [1, 2**32 + 0, 2**63])
def test_all_64_bits_of_a_seed_count(other):
    """Seeds that agree in their low 32 bits draw differently."""
    logits = np.zeros(1000, np.float32)
    draws = [
        [sampler.draw(logits) for _ in range(5)] for sampler in (Sampler(Sampling(), 0), Sampler(Sampling(), other))
    ]
    assert draws[0] != draws[1]

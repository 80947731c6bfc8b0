from math import fsum
from statistics import NormalDist

import numpy as np
import pytest

from coevo.errors import CoevoError
from coevo.noise import make_table
from coevo.noise.table import NUM_MAGNITUDES, TABLE_FILE, TABLE_SHA256, load_magnitudes, normal_table


def test_table_is_symmetric_with_the_sign_in_the_top_bit():
    """Lane v and lane v + 32768 hold the same magnitude with opposite signs, none of them zero."""
    table = normal_table()
    assert table.dtype == np.float32
    assert table.shape == (65536,)
    assert (table[:NUM_MAGNITUDES] > 0).all()
    assert (table[NUM_MAGNITUDES:] == -table[:NUM_MAGNITUDES]).all()
    assert (np.diff(table[:NUM_MAGNITUDES]) > 0).all()


def test_table_has_the_moments_of_a_normal():
    """Mean 0, standard deviation 1 (to 1e-10), kurtosis 2.999 (the tails are cut at 4.32)."""
    values = [float(value) for value in normal_table()]
    assert fsum(values) == 0.0
    assert fsum(value**2 for value in values) / len(values) == pytest.approx(1.0, abs=1e-10)
    assert fsum(value**4 for value in values) / len(values) == pytest.approx(2.999, abs=5e-4)
    assert max(values) == pytest.approx(4.325, abs=1e-3)


def test_entries_follow_from_the_quantile_function():
    """An entry is the normal quantile at the middle of its slice over the root mean square of all of them."""
    normal = NormalDist()
    quantiles = [normal.inv_cdf(0.5 + (slot + 0.5) / 65536) for slot in range(NUM_MAGNITUDES)]
    spread = (fsum(quantile**2 for quantile in quantiles) / NUM_MAGNITUDES) ** 0.5
    for slot in (0, 1, 1234, 16384, 32000, 32767):
        assert normal_table()[slot] == pytest.approx(quantiles[slot] / spread, rel=6.1e-8)


def test_the_script_writes_the_shipped_file(tmp_path):
    """`make_table` computes the shipped magnitudes bit for bit."""
    make_table.write(tmp_path / "table.npy")
    assert load_magnitudes(tmp_path / "table.npy").tobytes() == load_magnitudes(TABLE_FILE).tobytes()


def test_a_changed_file_is_refused(tmp_path):
    """One flipped bit is another noise scheme, so loading names the file and both hashes."""
    magnitudes = load_magnitudes(TABLE_FILE)
    magnitudes.view(np.uint32)[77] ^= 1
    np.save(tmp_path / "table.npy", magnitudes)
    with pytest.raises(CoevoError, match=TABLE_SHA256[:16]):
        load_magnitudes(tmp_path / "table.npy")


def test_the_table_cannot_be_changed_by_a_caller():
    """The table is shared by every kernel of the process, so it is read-only."""
    with pytest.raises(ValueError, match="read-only"):
        normal_table()[0] = 0.0

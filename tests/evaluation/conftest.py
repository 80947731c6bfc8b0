from pathlib import Path

from coevo.content import load_module

# The toy problem and its pool serve both folders.
_shared = load_module(Path(__file__).parent.parent / "sandbox" / "conftest.py")
toy, variant, heuristic = _shared.toy, _shared.variant, _shared.heuristic
descendants, settled, pool = _shared.descendants, _shared.settled, _shared.pool
by_plain_calls, own_cache = _shared.by_plain_calls, _shared.own_cache

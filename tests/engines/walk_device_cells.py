"""Run by a test with TRITON_INTERPRET=1: one walk over members and updates on device cells and on host cells.

Prints a JSON list of [what, whether both agree].
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from coevo.block import Block
from coevo.engines.cells import Served, make_cells
from coevo.engines.checkpoint import read_headers
from coevo.engines.device_cells import DeviceCell
from coevo.engines.policy import WeightPolicy
from coevo.engines.torch_cells import host_view
from coevo.engines.weights import Weights
from coevo.interfaces import Member, Partition, Update
from coevo.noise.basis import read_basis

TYPES = ("float32", "bfloat16", "bfloat16", "float16")
RULES = ("master", "master", "stochastic", "nearest")
MEMBERS = [
    Member(9, 1, 0, 1, 0.3),
    Member(9, 1, 1, -1, 0.3, Partition(2, "element"), 1),
    None,
    Member(9, 1, 2, 1, 0.3, Partition(3, "tile"), 2),
    Member(9, 1, 2, -1, 0.3, rank=2),
]
UPDATES = [
    Update(9, 1, (0, 1), (0.1, -0.2)),
    Update(9, 2, (0, 3), (0.1, 0.3), Partition(2, "tile"), (1, 0)),
    Update(9, 3, (0, 1), (0.1, -0.2), rank=2),
]


def is_plain(step):
    """Whether a member or an update has neither rank nor subspaces, as in the span of a basis; the base has none."""
    return step is None or (step.rank == 0 and step.partition is None)


def bits(tensors):
    """The bits of served tensors."""
    return [host_view(tensor).tobytes() for tensor in tensors]


def halves(block):
    """Two column shards of a matrix, as tensor-parallel parts have them; a vector whole."""
    if block.rows == 1:
        return [block]
    cut = block.cols // 3
    return [replace(block, cols=cut), replace(block, col=cut, cols=block.cols - cut)]


def walk(folder: Path, dtype: torch.dtype, policy: WeightPolicy, basis=None):
    """Compare after every move; with a basis all of them are in its span."""
    name = basis.identity if basis else 0
    members = [member and replace(member, basis=name) for member in MEMBERS if not basis or is_plain(member)]
    updates = [replace(update, basis=name) for update in UPDATES if not basis or is_plain(update)]
    tensors = read_headers(folder)
    whole = [Block.whole(name, info.shape) for name, info in tensors.items()]
    blocks = [shard for block in whole for shard in halves(block)]
    near, far = ([torch.empty(block.rows, block.cols, dtype=dtype) for block in blocks] for _ in range(2))
    host_policy = policy.model_copy(update={"restore": "copy"})
    served = [Served(block, host_view(tensor)) for block, tensor in zip(blocks, near, strict=True)]
    host = Weights(make_cells(served, tensors, host_policy, basis))
    pairs = zip(blocks, far, strict=True)
    device = Weights(
        [DeviceCell(b, t, tensors[b.tensor], policy, moves=b.tensor != "fixed", basis=basis) for b, t in pairs]
    )
    yield "start", bits(near) == bits(far)
    for member in members:
        for weights in (host, device):
            weights.activate(member)
        yield f"member {member}", bits(near) == bits(far)
    for update in updates:
        for weights in (host, device):
            weights.commit(update)
        yield f"update {update.step}", bits(near) == bits(far)
        yield "fingerprint", host.fingerprint() == device.fingerprint()
    yield (
        "base",
        all(np.array_equal(one, other) for (_, one), (_, other) in zip(host.bases(), device.bases(), strict=True)),
    )


def main() -> None:
    """Walk for every storage, rule and restore mode."""
    found = []
    for dtype, rule in zip(TYPES, RULES, strict=True):
        for mode in ("copy", "host"):
            policy = WeightPolicy(update_rule=rule, restore=mode, scope="^(a|b)$")
            steps = walk(Path(sys.argv[1]), getattr(torch, dtype), policy)
            found += [[f"{dtype} {rule} {mode}: {what}", agree] for what, agree in steps]
    policy, basis = WeightPolicy(scope="guided"), read_basis(Path(sys.argv[1]) / "guided.basis")
    found += [[f"guided: {what}", agree] for what, agree in walk(Path(sys.argv[1]), torch.bfloat16, policy, basis)]
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()

"""Run by an interpreter that has vLLM: what a model served with adapters does, written down for the tests to judge.

Usage: inside_adapters.py SPEC FACTS, both JSON files.
"""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

from inside_vllm import LONG, describe, run

from coevo.engines import wire
from coevo.interfaces import Member, Request, Sampling

SHORT = "n = 5"
SMALL = 2e-4


def ask(model, members, text=SHORT):
    """One greedy answer of each member, in their order, and how many of them were asked of vLLM at once."""
    seen, asked = {}, []
    generate = model._llm.generate

    def watch(prompts, parameters, **names):
        outputs = generate(prompts, parameters, **names)
        asked.append(len(outputs))
        seen.update({each.seed: describe(output) for each, output in zip(parameters, outputs, strict=True)})
        return outputs

    model._llm.generate = watch
    sampling = Sampling(temperature=0.0, max_tokens=6)
    requests = [Request(f"r{place}", text, place, member, sampling) for place, member in enumerate(members)]
    completions = [done for batch in model.answer(list(map(wire.pack_request, requests))) for done in batch]
    del model._llm.generate
    assert {done["request_id"] for done in completions} == {request.id for request in requests}
    return {"batches": asked, "answers": [seen[place] for place in range(len(members))]}


def tables(model, look, member):
    """The likeliest first tokens of the base, of a member as an adapter, and of it in weights that are moved."""
    model._shards.activate(None)
    base, adapted = look(), look(model._adapters.hold([member])[member])
    model._shards.activate(member)
    moved = look()
    model._shards.activate(None)
    return {"base": dict(base[0]), "adapted": dict(adapted[0]), "moved": dict(moved[0])}


def caching(model, first, second):
    """P3: cached prompt tokens of a member cold, of another one after it, and of the first again."""
    model._llm.reset_prefix_cache()
    asked = (first, second, None, first)
    return [ask(model, [member], LONG)["answers"][0]["cached"] for member in asked]


def turns(model, first, second):
    """P3: cached prompt tokens of a first turn; of the second by another member, the base, the same member."""
    model._llm.reset_prefix_cache()
    asked = ((first, LONG), (second, LONG * 2), (None, LONG * 2), (first, LONG * 2))
    return [ask(model, [member], text)["answers"][0]["cached"] for member, text in asked]


def without_a_spare_slot(model, members):
    """The base beside so many members that all slots, the spare one too, hold an adapter; spoils what comes after."""
    model._adapters.release()
    model._adapters.slots += 1
    return ask(model, [None, *members[: model._adapters.slots]])


def leftovers():
    """Folders of adapters of this process that are still there."""
    folders = {Path("/dev/shm"), Path(tempfile.gettempdir())}
    return [str(found) for folder in folders for found in folder.glob(f"coevo-adapter-{os.getpid()}-*")]


def look_at(model, look, spec):
    """Everything once; the model has moved in the end."""
    rank = spec["options"]["rank"]
    members = [Member(77, 0, direction, 1, spec["sigma"], rank=rank) for direction in range(5)]
    mirrored = replace(members[0], sign=-1)
    small = replace(members[0], sigma=SMALL)
    loaded = model._llm.llm_engine.list_loras
    found = {
        "fingerprint": model.fingerprint(),
        "base": ask(model, [None]),
        "alone": [ask(model, [member]) for member in members],
        "mirrored": ask(model, [mirrored]),
        "together": ask(model, [members[0], None, mirrored]),
        "crowd": ask(model, [*members, None, *members]),
        "held": len(loaded()),
        "base again": ask(model, [None]),
        "caching": caching(model, *members[:2]),
        "turns": turns(model, *members[:2]),
        "tables": [tables(model, look, member) for member in members[:2]],
        "small": [tables(model, look, member) for member in (small, replace(small, sign=-1))],
        "mixed": ask(model, [replace(members[0], rank=0), members[0], replace(members[0], rank=rank + 1), None]),
        "after members": model.fingerprint(),
        "history": [],
    }
    for update in spec["updates"]:
        ask(model, [replace(members[0], step=update["step"])])
        model.commit([update])
        found["history"].append(model.fingerprint())
    found["loaded"] = len(loaded())
    found["moved"] = ask(model, members[:1])
    found["leftovers"] = leftovers()
    model.export(Path(spec["export"]))
    found["in the end"] = [ask(model, [None]), without_a_spare_slot(model, members)]
    return found


if __name__ == "__main__":
    run(look_at)

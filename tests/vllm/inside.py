"""Run by an interpreter that has vLLM: what a served model does, written down as facts for the tests to judge.

Usage: inside.py SPEC FACTS, both JSON files.
"""

from pathlib import Path

from inside_vllm import LONG, describe, run

from coevo.engines import wire
from coevo.errors import ModelError
from coevo.interfaces import Member, Request, Sampling


def ask(model, member, text=LONG):
    """One greedy answer of a member: tokens, log-probabilities, and how many prompt tokens came from the cache."""
    seen = []
    generate = model._llm.generate
    model._llm.generate = lambda *values, **names: seen.append(generate(*values, **names)) or seen[-1]
    request = Request("r", text, 1, member, Sampling(temperature=0.0, max_tokens=6))
    list(model.answer([wire.pack_request(request)]))
    del model._llm.generate
    (output,) = seen[0]
    return describe(output)


def movement(model, look, member):
    """P1: for each checkpoint tensor, whether noise in it alone shows, and whether taking it out brings all back."""
    before, found = look(), {}
    for name in model._shards.shapes:
        model._shards.nudge([name], member)
        moved = look() != before
        model._shards.nudge([name], None)
        found[name] = [moved, look() == before]
    return found


def caching(model, members):
    """P3: the second member cold, after the first, and once more; and both without a salt, which is the fault."""
    import vllm

    first, second = members
    model._llm.reset_prefix_cache()
    cold = ask(model, second)
    model._llm.reset_prefix_cache()
    ask(model, first)
    after, again = ask(model, second), ask(model, second)
    parameters = vllm.SamplingParams(temperature=0.0, max_tokens=6, detokenize=False, logprobs=0)
    prompt = {"prompt_token_ids": model._codec.encode(LONG)}
    model._shards.activate(first)
    model._llm.generate([prompt], parameters, use_tqdm=False)
    model._shards.activate(second)
    (unsalted,) = model._llm.generate([prompt], parameters, use_tqdm=False)
    return {"cold": cold, "after": after, "again": again, "unsalted": describe(unsalted)}


def turns(model, members):
    """P3: cached prompt tokens of a first turn; of the second by another member, the base, the same member."""
    first, second = members
    model._llm.reset_prefix_cache()
    asked = ((first, LONG), (second, LONG * 2), (None, LONG * 2), (first, LONG * 2))
    return [ask(model, member, text)["cached"] for member, text in asked]


def refusals(model, update):
    """P4, P5: what is refused while a request is at work, and that nothing has moved."""
    import vllm

    before, engine = model.fingerprint(), model._llm.llm_engine
    parameters = vllm.SamplingParams(max_tokens=40, ignore_eos=True, detokenize=False)
    engine.add_request("busy", {"prompt_token_ids": [5, 6, 7]}, parameters)
    engine.step()
    found = {"reset": model._llm.reset_prefix_cache(), "commit": failure(lambda: model.commit([update]))}
    found["answer"] = failure(lambda: ask(model, None))
    model._require_idle = lambda: None
    found["unguarded"] = failure(lambda: model.commit([update]))
    del model._require_idle
    while engine.has_unfinished_requests():
        engine.step()
    return found | {"unmoved": model.fingerprint() == before}


def failure(act):
    """Name of the error's class and its text; None if there is none."""
    try:
        act()
    except (ModelError, RuntimeError, ValueError) as error:
        return [type(error).__name__, str(error)]
    return None


def names(model):
    """P21: names that the extension adds to vLLM's worker class."""
    from coevo.engines.vllm.extension import WeightsExtension

    return [name for name in vars(WeightsExtension) if not name.startswith("__")]


def look_at(model, look, spec):
    """Everything once; the model has moved in the end."""
    members = [Member(77, 0, direction, 1, spec["sigma"]) for direction in range(20)]
    loud = Member(77, 0, 0, 1, 0.5)
    found = {
        "names": names(model),
        "fingerprint": model.fingerprint(),
        "movement": movement(model, look, loud),
        "caching": caching(model, members[:2]),
        "turns": turns(model, members[:2]),
        "refusals": refusals(model, spec["updates"][0]),
        "member": ask(model, members[0], "n = 5"),
        "base": ask(model, None, "n = 5"),
    }
    for member in members:
        model._shards.activate(member)
        model._shards.activate(member)
    found["after members"] = model.fingerprint()
    found["history"] = []
    for update in spec["updates"]:
        model._shards.activate(members[3])
        model.commit([update])
        found["history"].append(model.fingerprint())
    found["repeated"] = failure(lambda: model.commit([spec["updates"][-1]]))
    found["after repeated"] = model.fingerprint()
    model.export(Path(spec["export"]))
    found["owned twice"] = sum(not placed.is_owned for blocks in model._shards.ranks for placed in blocks)
    found["parameters"] = model._shards.parameters
    return found


if __name__ == "__main__":
    run(look_at)

"""A process that says whether two answers are the same mathematics, by math-verify.

Runs by itself, because neither its time nor its memory can be bounded in a thread: math-verify's own time limit is a
signal of the main thread, and the answers come from a model. Reads lines of JSON, `{"expected", "given"}`, and writes
`{"equal": true | false | null}`, null where math-verify can read one of them not at all. Its parent ends it when it
takes too long.
"""

import json
import resource
import sys


def main() -> None:
    """Answer until the input ends."""
    memory = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

    config = (LatexExtractionConfig(), ExprExtractionConfig())

    def read(text: str) -> list[object]:
        found: list[object] = parse(
            f"\\boxed{{{text}}}", config, fallback_mode="no_fallback", parsing_timeout=None, raise_on_error=False
        )
        return found

    def equal(expected: str, given: str) -> bool | None:
        gold, answer = read(expected), read(given)
        return bool(verify(gold, answer, timeout_seconds=None)) if gold and answer else None

    print(json.dumps({"ready": True}), flush=True)  # noqa: T201 - the protocol
    for line in sys.stdin:
        request = json.loads(line)
        try:
            result = equal(request["expected"], request["given"])
        except Exception:  # what the parsers raise over the text of a model is bounded by nothing
            result = False
        print(json.dumps({"equal": result}), flush=True)  # noqa: T201 - the protocol


if __name__ == "__main__":
    main()

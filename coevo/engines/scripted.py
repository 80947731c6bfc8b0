"""The engine `scripted`: answers from a list, a file or a function, for dry runs and tests.

It keeps every promise of an engine without a model. Which answer a request gets depends on its id and seed, not on
order, so an interrupted run goes on as if it had not been. Its "weights" are a chain of hashes of the updates.
"""

import hashlib
import json
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from coevo.engines.stopping import cut
from coevo.errors import ContentError
from coevo.explaining import explain
from coevo.interfaces import Completion, Request, Update

Script = Callable[[Request], str]

STATE_FILE = "scripted.json"
_START = int.from_bytes(hashlib.blake2b(b"coevo-scripted-v1", digest_size=8).digest(), "little")


class ScriptedAnswer(BaseModel):
    """One entry of a script file: a text for every request whose prompt contains `match` (all, if it is empty).

    Of a conversation, the content of every message counts as well as the request's plain text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    match: str = ""
    finish: Literal["stop", "length"] = "stop"


_Answers = TypeAdapter(tuple[ScriptedAnswer, ...])


class ScriptedEngine:
    """See `coevo.interfaces.Engine`.

    Args:
        script: A function of the request; or texts or answers, of which those that match the prompt are dealt out by
            a hash of request id and seed.

    Attributes:
        num_requests: Requests answered so far, counted here and nowhere else.

    Raises:
        ValueError: If the sequence is empty.
    """

    def __init__(self, script: Script | Sequence[str | ScriptedAnswer]) -> None:
        if not callable(script) and not script:
            raise ValueError("script must hold at least one answer, got none")
        self.num_requests = 0
        self._script = script
        self._state = _START

    @classmethod
    def from_file(cls, path: Path) -> "ScriptedEngine":
        """An engine that answers from a JSON list of `{"text": …, "match": …, "finish": …}`, the last two optional.

        Raises:
            ContentError: If the file is missing, malformed or empty.
        """
        try:
            answers = _Answers.validate_json(path.read_bytes())
        except OSError as error:
            raise ContentError(
                f"expected a script (a JSON list of answers) at {path}, cannot read it: {error}"
            ) from error
        except ValidationError as error:
            raise ContentError(f"{path}: {explain(error)}") from error
        if not answers:
            raise ContentError(f"expected at least one answer in the script {path}, found none")
        return cls(answers)

    def generate(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """See `Engine`; answers in the order of the requests, cut at their stop texts."""
        for request in requests:
            self.num_requests += 1
            answer = self._answer(request)
            before = cut(answer.text, request.sampling.stop)
            text, finish = (answer.text, answer.finish) if before is None else (before, "stop")
            yield Completion(request.id, text, finish, len(text.split()))

    def commit(self, update: Update) -> int:
        """See `Engine`."""
        content = struct.pack("<QQQ", self._state, update.run_key, update.step)
        content += struct.pack(f"<{len(update.directions)}Q", *update.directions)
        content += struct.pack(f"<{len(update.coefficients)}f", *update.coefficients)
        self._state = _hash(content)
        return self._state

    def fingerprint(self) -> int:
        """See `Engine`."""
        return self._state

    def export(self, folder: Path) -> None:
        """See `Engine`; what is written is the fingerprint."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / STATE_FILE).write_text(json.dumps({"schema_version": 1, "fingerprint": self._state}) + "\n")

    def close(self) -> None:
        """See `Engine`."""

    def _answer(self, request: Request) -> ScriptedAnswer:
        if callable(self._script):
            return ScriptedAnswer(text=self._script(request))
        answers = [ScriptedAnswer(text=entry) if isinstance(entry, str) else entry for entry in self._script]
        prompt = "\n".join([request.text, *(message.content for message in request.messages)])
        matching = [answer for answer in answers if answer.match in prompt]
        if not matching:
            raise ContentError(
                f"expected a scripted answer whose 'match' is in the prompt of request {request.id!r}, which begins "
                f"{prompt[:40]!r}; found none among {len(answers)}; add one without 'match'"
            )
        return matching[_hash(f"{request.id}\0{request.seed}".encode()) % len(matching)]


def _hash(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")

"""What an actor holds that is an engine: a real one, opened where the actor is, and what it answers for it.

    {"do": "open"}                              -> {"identity": {...}}, once the engine is there
    {"do": "generate", "requests"}              -> {}; what is left of the last one is abandoned
    {"do": "more"}                              -> {"completions", "done"}, as soon as there is one
    {"do": "commit", "update"} | {"do": "fingerprint"} -> {"fingerprint"}
    {"do": "export"}                            -> {"files": [[name, bytes]]}
    {"do": "read", "name", "at"}                -> {} and the next bytes of a file
    {"do": "forget"}                            -> {}, once the exported files are removed
    {"do": "close"}, at any time                -> {}

No weights travel, but for an export, which has to be where the run is.
"""

import queue
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from coevo.engines import wire
from coevo.interfaces import Completion, Engine, Request

Header = dict[str, Any]

CHUNK = 8 * 2**20
"""Bytes of an exported file that travel at a time."""


class EngineServant:
    """See `coevo.cluster.host.Servant`. One thread at a time asks; `close` may come from another one.

    Args:
        open_engine: Makes the engine.
        identity: Says what the engine depends on: name -> version or hash.
    """

    def __init__(self, open_engine: Callable[[], Engine], identity: Callable[[], Mapping[str, str]]) -> None:
        self._open_engine = open_engine
        self._identity = identity
        self._engine: Engine | None = None
        self._generation: _Generation | None = None
        self._written: tempfile.TemporaryDirectory[str] | None = None

    def answer(self, header: Mapping[str, Any], _payload: bytes) -> tuple[Header, bytes]:
        """See `coevo.cluster.host.Servant`."""
        acts: dict[str, Callable[[Mapping[str, Any]], Header]] = {
            "open": self._open, "generate": self._generate, "more": self._more, "commit": self._commit,
            "fingerprint": self._fingerprint, "export": self._export, "forget": self._forget, "close": self._close,
        }  # fmt: skip
        if header["do"] == "read":
            return {}, self._read(header["name"], header["at"])
        return acts[header["do"]](header), b""

    @property
    def _settled(self) -> Engine:
        """The engine, once what is left of the last call has been abandoned."""
        assert self._engine is not None
        if self._generation is not None:
            self._generation.stop()
            self._generation = None
        return self._engine

    def _open(self, _header: Mapping[str, Any]) -> Header:
        self._engine = self._open_engine()
        return {"identity": dict(self._identity())}

    def _generate(self, header: Mapping[str, Any]) -> Header:
        requests = [wire.unpack_request(values) for values in header["requests"]]
        self._generation = _Generation(self._settled, requests)
        return {}

    def _more(self, _header: Mapping[str, Any]) -> Header:
        assert self._generation is not None
        completions, is_done = self._generation.more()
        return {"completions": [wire.pack_completion(each) for each in completions], "done": is_done}

    def _commit(self, header: Mapping[str, Any]) -> Header:
        return {"fingerprint": self._settled.commit(wire.unpack_update(header["update"]))}

    def _fingerprint(self, _header: Mapping[str, Any]) -> Header:
        return {"fingerprint": self._settled.fingerprint()}

    def _export(self, _header: Mapping[str, Any]) -> Header:
        self._forget({})
        self._written = tempfile.TemporaryDirectory(prefix="coevo-export-")
        folder = Path(self._written.name)
        self._settled.export(folder)
        files = sorted(file for file in folder.rglob("*") if file.is_file())
        return {"files": [[file.relative_to(folder).as_posix(), file.stat().st_size] for file in files]}

    def _read(self, name: str, at: int) -> bytes:
        assert self._written is not None
        with (Path(self._written.name) / name).open("rb") as file:
            file.seek(at)
            return file.read(CHUNK)

    def _close(self, _header: Mapping[str, Any]) -> Header:
        if self._engine is not None:
            self._engine.close()
        return self._forget({})

    def _forget(self, _header: Mapping[str, Any]) -> Header:
        written, self._written = self._written, None
        if written is not None:
            written.cleanup()
        return {}


class _Generation:
    """One call of an engine's `generate`, in a thread of its own."""

    def __init__(self, engine: Engine, requests: Sequence[Request]) -> None:
        self._answers: queue.SimpleQueue[Completion | BaseException | None] = queue.SimpleQueue()
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, args=(engine, requests), daemon=True)
        self._thread.start()

    def more(self) -> tuple[list[Completion], bool]:
        """The completions that are there, waiting for one; and whether they are the last."""
        found: list[Completion] = []
        answer = self._answers.get()
        while isinstance(answer, Completion):
            found.append(answer)
            if self._answers.empty():
                return found, False
            answer = self._answers.get()
        if answer is None:
            return found, True
        self._answers.put(answer)
        if found:
            return found, False
        raise answer

    def stop(self) -> None:
        """Abandon what is left; the engine stops at its next answer."""
        self._is_stopped = True
        self._thread.join()

    def _run(self, engine: Engine, requests: Sequence[Request]) -> None:
        try:
            with closing(cast(Any, engine.generate(requests))) as answers:
                for completion in answers:
                    self._answers.put(completion)
                    if self._is_stopped:
                        break
        except BaseException as error:
            self._answers.put(error)
        else:
            self._answers.put(None)

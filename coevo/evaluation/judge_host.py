"""What an actor holds that judges: a judge process with its sandbox, on whatever node the actor is."""

import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coevo.candidate import Evaluation
from coevo.content import ProblemFolder, ProblemSpec
from coevo.errors import SandboxError
from coevo.evaluation.judge_process import Brief, JudgeDiedError, JudgeProcess
from coevo.evaluation.shipping import find_here, identity, lay_out
from coevo.sandbox.launcher import find_bwrap

Header = dict[str, Any]


class JudgeServant:
    """See `coevo.cluster.host.Servant`. Messages, in this order:

        {"do": "find"}                                     -> {"found": bool, "identity"}
        {"do": "start"} + archive, empty where found       -> {}
        {"do": "evaluate", "split", "part"} + source       -> {"evaluation"} | {"count"}
        {"do": "ping"} | {"do": "close"}, at any time      -> {}

    Args:
        settings: `problem` as `coevo.evaluation.shipping.describe` gives it, its `spec`, and `unsafe`.
    """  # noqa: D415

    def __init__(self, settings: Mapping[str, Any], _payload: bytes) -> None:
        self._problem = settings["problem"]
        self._spec = ProblemSpec.model_validate(settings["spec"])
        self._unsafe = settings["unsafe"]
        self._place: Path | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._judge: JudgeProcess | None = None
        # A judge ends with the thread that started it, so one thread does all that a judge is asked.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="coevo-judge")

    def answer(self, header: Mapping[str, Any], payload: bytes) -> tuple[Header, bytes]:
        """See `coevo.cluster.host.Servant`."""
        if header["do"] == "ping":
            return {}, b""
        if header["do"] == "close":
            self._close()
            return {}, b""
        act = {"find": self._find, "start": self._start, "evaluate": self._evaluate}[header["do"]]
        try:
            return self._thread.submit(act, header, payload).result(), b""
        except JudgeDiedError as error:
            raise SandboxError(str(error)) from error

    def _find(self, _header: Mapping[str, Any], _payload: bytes) -> Header:
        self._place = find_here(self._problem)
        return {"found": self._place is not None, "identity": identity()}

    def _start(self, _header: Mapping[str, Any], archive: bytes) -> Header:
        if self._place is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="coevo-problem-")
            self._place = lay_out(archive, self._problem, Path(self._temporary.name))
        folder = ProblemFolder(self._place, self._spec, description="")
        brief = Brief(folder, None if self._unsafe else find_bwrap(), folder.kernel_cache())
        self._judge = JudgeProcess(brief)
        self._judge.start()
        return {}

    def _evaluate(self, header: Mapping[str, Any], source: bytes) -> Header:
        assert self._judge is not None
        part = None if header["part"] is None else tuple(header["part"])
        answer = self._judge.evaluate(source.decode(errors="surrogatepass"), header["split"], part)
        return {"evaluation": asdict(answer)} if isinstance(answer, Evaluation) else {"count": answer}

    def _close(self) -> None:
        if self._judge is not None:
            self._judge.terminate()
            self._judge.join()
        self._thread.shutdown(wait=True, cancel_futures=True)
        if self._judge is not None:
            self._judge.close()
        if self._temporary is not None:
            self._temporary.cleanup()

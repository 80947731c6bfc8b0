"""The pool's handle on a judge that is an actor on some node of a cluster."""

import threading
from dataclasses import dataclass, field
from typing import Any

from coevo.candidate import Evaluation
from coevo.cluster.actor import Actor, ActorSpec
from coevo.cluster.connection import Cluster
from coevo.cluster.faults import ActorLost, NoRoom
from coevo.cluster.roster import Roster
from coevo.content import ProblemFolder
from coevo.errors import SandboxError
from coevo.evaluation.judge_process import JudgeDiedError, JudgeLostError, read_reply
from coevo.evaluation.shipping import describe, identity, pack

CPUS = 0.5
"""What a judge keeps of a node: judges and engines of a search take turns, as they do on one machine."""

_OPENINGS = 3
"""Actors that are opened in a row before a judge is given up: a node may go down while one starts on it."""


@dataclass(frozen=True, slots=True)
class Case:
    """What the judges of a cluster are started with.

    Attributes:
        cluster: Where they run.
        problem: The problem, with whatever limits the caller has given its `spec`.
        unsafe: Whether candidates run without bubblewrap.
        described: How its folder is found there.
        roster: What judges are held against: this machine, and each other.
    """

    cluster: Cluster
    problem: ProblemFolder
    unsafe: bool
    described: dict[str, Any]
    roster: Roster = field(default_factory=lambda: Roster("a judge", identity()))

    @classmethod
    def of(cls, cluster: Cluster, problem: ProblemFolder, *, unsafe: bool) -> "Case":
        """The case of a problem folder here."""
        return cls(cluster, problem, unsafe, describe(problem.path))

    def spec(self) -> ActorSpec:
        """The actor that a judge lives in."""
        settings = {
            "problem": self.described, "spec": self.problem.spec.model_dump(mode="json"), "unsafe": self.unsafe,
        }  # fmt: skip
        return ActorSpec("a judge", "coevo.evaluation.judge_host:JudgeServant", settings, cpus=CPUS)


class RemoteJudge:
    """See `coevo.evaluation.judge_process.JudgeHandle`."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._lock = threading.Lock()
        self._actor: Actor | None = None
        self._is_closed = False

    def start(self) -> None:
        """Open the actor wherever there is room, and wait until its sandbox is warm.

        Raises:
            JudgeDiedError: If the pool is closed meanwhile.
            SandboxError: If there is no room, or untrusted code cannot be contained there.
            ContentError: If the problem cannot be used there, or is too large to be sent.
            ModelError: If that node has other packages that verdicts depend on.
        """
        for opening in range(1, _OPENINGS + 1):
            try:
                return self._open()
            except (ActorLost, SandboxError) as error:
                if self._is_closed:
                    raise JudgeDiedError("the pool is closed") from None
                if opening == _OPENINGS or isinstance(error, NoRoom) or self._case.cluster.is_over:
                    raise SandboxError(f"no judge can be started in the cluster: {error}") from error
        return None

    def is_there(self) -> bool:
        """See `JudgeHandle`: whether its actor answers."""
        assert self._actor is not None
        try:
            self._actor.ask({"do": "ping"})
        except ActorLost:
            return False
        return True

    def evaluate(self, code: str, split: str, part: tuple[int, int] | None) -> Evaluation | int:
        """See `JudgeHandle`.

        Raises:
            JudgeLostError: If the actor is gone; the job says nothing of why.
            JudgeDiedError: If the pool was closed meanwhile.
            SandboxError: If no sandbox can be started there any more.
            ContentError: If the problem fails to make the split's instances.
        """
        assert self._actor is not None
        header = {"do": "evaluate", "split": split, "part": part}
        try:
            return read_reply(self._actor.ask(header, code.encode(errors="surrogatepass"))[0])
        except ActorLost as error:
            self._actor.begin_close()
            if self._is_closed:
                raise JudgeDiedError("the pool is closed") from None
            if self._case.cluster.is_over:
                raise SandboxError(str(error)) from error
            raise JudgeLostError(str(error)) from None

    def terminate(self) -> None:
        """End it for good; does not wait."""
        with self._lock:
            self._is_closed = True
            if self._actor is not None:
                self._actor.begin_close()

    def join(self) -> None:
        """Wait until the actor has ended."""
        if self._actor is not None:
            self._actor.close()

    def close(self) -> None:
        """Terminate and wait."""
        self.terminate()
        self.join()

    def _open(self) -> None:
        with self._lock:
            if self._is_closed:
                raise JudgeDiedError("the pool is closed")
            actor = self._actor = self._case.cluster.actor(self._case.spec())
        try:
            actor.open()
            answer = actor.ask({"do": "find"}, names_host=True)[0]
            self._case.roster.admit(answer["identity"], actor.host)
            content = b"" if answer["found"] else pack(self._case.problem.path)
            actor.ask({"do": "start"}, content, names_host=True)
        except BaseException:
            actor.begin_close()
            raise

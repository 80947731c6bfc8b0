"""A search whose engine and judge are Python functions."""

import hashlib
from collections import Counter
from contextlib import ExitStack

import pytest

from coevo.candidate import Evaluation
from coevo.evolution.renderers import renderer_named
from coevo.interfaces import Completion
from coevo.learning.asking import Asker
from coevo.learning.models import OpenModel
from coevo.learning.stopping import StopRule
from coevo.searching.analysts import analyst_of, start_mentor
from coevo.searching.assemble import limits_of
from coevo.searching.breeding import Breeder
from coevo.searching.config import make_config
from coevo.searching.examiner import Examiner
from coevo.searching.learning import Learner
from coevo.searching.loop import Search, evolve
from coevo.searching.methods import operators_of
from coevo.searching.plan import plan
from coevo.searching.teaching import Teacher

WIDE = 0.01
"""σ beyond which members write nothing that runs."""


class CountingEngine:
    """Answers with a program whose cost is a hash of the request, last request first; counts what it is asked.

    The answers depend on the member and on the updates so far, as a real model's do.
    """

    def __init__(self):
        self.requests = []
        self.updates = []

    def generate(self, requests):
        """See `Engine`."""
        self.requests += requests
        for request in reversed(requests):
            member = request.member.identity if request.member else "base"
            name = f"{request.id} {request.seed} {member} {self.fingerprint()}"
            number = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=2).digest(), "little") / 65536
            text = "no program" if number > 0.9 else f"def select_next_node(a, b, c, d):\n    return {number}\n"
            if request.member and request.member.sigma > WIDE:
                text = "ruins"
            if ".skill." in request.id:
                text = f"ADD worked: numbers of kind {int(5 * number)} FROM 1"
            yield Completion(request.id, text, "stop", 5)

    def commit(self, update):
        """See `Engine`."""
        self.updates.append(update)
        return self.fingerprint()

    def fingerprint(self):
        """See `Engine`."""
        told = (
            f"Update(run_key={update.run_key}, step={update.step}, directions={update.directions}, "
            f"coefficients={update.coefficients})"
            for update in self.updates
        )
        return int.from_bytes(hashlib.blake2b(f"[{', '.join(told)}]".encode(), digest_size=8).digest(), "little")

    def export(self, folder):
        """See `Engine`."""
        raise AssertionError("not asked for in a search")

    def close(self):
        """Nothing to release."""


def judge(code):
    """The cost is the number the program returns; numbers above 0.8 are infeasible."""
    number = float(code.rpartition("return ")[2])
    return Evaluation("ok", cost=number, objective=number) if number <= 0.8 else Evaluation("infeasible", "too large")


class Harness:
    """One search with its engine, pool and events at hand."""

    def __init__(self, directory, log, problem, pool, start=(), **values):
        self.config = make_config({"model": "fake", **values})
        self.engine, self.pool, self.log, self.directory = CountingEngine(), pool, log, directory
        examiner, asker = Examiner(pool, log, directory), Asker(self.engine, log)
        model = OpenModel(self.engine, "plain")
        mentor = start_mentor(self.config, problem, model, ExitStack())
        analyst = analyst_of(self.config, problem.description, mentor, log)
        the_plan = plan(self.config)
        self.search = Search(
            config=self.config,
            problem=problem,
            plan=the_plan,
            operators=operators_of(self.config),
            breeder=Breeder(problem, asker, renderer_named("plain"), log, examiner),
            examiner=examiner,
            learner=Learner(self.config, len(the_plan.generations), model, log, directory),
            mentor=mentor,
            teacher=Teacher(self.config, "tsp", analyst, log, directory),
            log=log,
            stop=StopRule(limits_of(self.config, 1.0), lambda: 0.0, log.recorded),
            start=tuple(start),
            references={},
        )

    def asked(self):
        """How many requests each operator made, as the engine saw it."""
        return Counter(request.id.split(".")[1] for request in self.engine.requests)


@pytest.fixture
def reopened(run_directory, tsp, fake_pool, ticking):
    """Goes on with the run directory of a search as it is, with fresh parts; gives the search and its outcome's log."""

    def go_on(**values):
        with run_directory.open_log(ticking) as log:
            again = Harness(run_directory, log, tsp, fake_pool(judge), **values)
            evolve(again.search)
        return again

    return go_on


@pytest.fixture
def harness(run_directory, log, tsp, fake_pool):
    """Makes a search out of configuration values; `judge` may be replaced."""

    def make(judge=judge, start=(), **values):
        return Harness(run_directory, log, tsp, fake_pool(judge), start, **values)

    return make

"""The ceiling of a probe: the same completions of the same parents, but the policy learns by backpropagation.

    OMP_NUM_THREADS=1 python tests/benchmarks/grpo.py --problem kp --steps 20 --seed 0

Runs one probe (`coevo.experiments.probe`) whose weights are moved by a policy gradient with group-normalised advantages
(GRPO, arXiv:2402.03300, without clipping, reference model or reuse of answers) and Adam, through torch and
transformers, instead of evolution strategies. Parents, prompts, rewards, measurements and records are those of every
other probe. After each step the weights are written as a model folder and served from there, so that answers come from
the same engine.

With `--corpus` the same optimiser follows the likelihood of fresh texts of the embedded model's own corpus, as many a
step, and never a reward: what continued training alone would do. The basis of the scope `guided` is made of such texts.

Only for small fp32 models on the CPU. Answers are read back from their text: one whose tokens are not as many as were
drawn (another spelling of the same text) is left out of the gradient and counted.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

import numpy as np
import torch

from coevo.engines.basis_building.corpus import grammar_texts
from coevo.engines.exporting import export_folder
from coevo.engines.guiding import load_basis
from coevo.engines.loading import inspect_folder, resolve_model
from coevo.engines.tokens import end_tokens, make_codec
from coevo.engines.torch_engine import TorchEngine
from coevo.engines.torch_model import load_model, name_parameters
from coevo.experiments.probe_assembly import Tools
from coevo.experiments.probe_config import make_probe_config
from coevo.experiments.probe_running import run_probe
from coevo.learning.models import OpenModel

FORM = {"evolution_strategy": {"members": 8, "children": 10}, "seeds": "independent"}
"""Ten prompts of eight answers: as many completions a step as twenty members with four children."""
BATCH = 20
"""Rows of one backward pass; a matter of memory alone."""
CORPUS_SEED = 1 << 20
"""Added to a probe's seed, so that no text is one of those that the shipped basis was made of."""


class ReloadedEngine:
    """A torch engine on one model folder after the other; remembers the last answers."""

    def __init__(self, folder, workers):
        self._workers = workers
        self.folder = folder
        self._engine = TorchEngine(folder, workers=workers, chat=False)
        self.answers = []

    def load(self, folder):
        """Serve another folder from now on."""
        self._engine.close()
        self.folder = folder
        self._engine = TorchEngine(folder, workers=self._workers, chat=False)

    def generate(self, requests):
        """See `Engine`."""
        texts = {request.id: request.text for request in requests}
        self.answers = []
        for completion in self._engine.generate(requests):
            self.answers.append((texts[completion.request_id], completion))
            yield completion

    def fingerprint(self):
        """See `Engine`."""
        return self._engine.fingerprint()

    def commit(self, update):
        """See `Engine`."""
        raise NotImplementedError("a policy gradient gives weights, not updates")

    def export(self, folder):
        """See `Engine`."""
        self._engine.export(folder)

    def close(self):
        """See `Engine`."""
        self._engine.close()


class PolicyGradient:
    """See `coevo.experiments.probe_learning.Training`: no members, one step of Adam per batch.

    The loss of an answer is −advantage · log-likelihood, summed over its tokens and divided by the tokens of the batch;
    the advantage is the reward less its group's mean, over its group's standard deviation plus 0.1, a group being the
    answers to one prompt.

    Attributes:
        left_out: Answers that were not used because their tokens are unknown.
        total: Answers in all.
    """

    def __init__(self, config, engine, log, scratch, rate):
        self._group = config.evolution_strategy.members
        self._engine, self._log, self._scratch = engine, log, scratch
        self._source = inspect_folder(engine.folder)
        self._ends = end_tokens(self._source)
        self._codec = make_codec(self._source, self._ends, chat=False)
        self._model = load_model(self._source, "cpu").eval()
        self._optimizer = torch.optim.Adam(self._model.parameters(), lr=rate, betas=(0.9, 0.95))
        self.refused = self.left_out = self.total = 0

    def begin(self, valid):
        """See `Training`."""

    def members(self, step):
        """See `Training`: the policy itself answers."""
        return ()

    def learn(self, step, children, rewards):
        """See `Training`."""
        rows = self._rows(step)
        used = [(row, value) for row, value in zip(rows, self._worth(rewards), strict=True) if row]
        self.total += len(rows)
        self.left_out += len(rows) - len(used)
        tokens = sum(len(answer) for (_, answer), _ in used)
        self._model.zero_grad()
        for first in range(0, len(used), BATCH):
            (loss_of(self._model, used[first : first + BATCH]) / tokens).backward()
        self._move()
        folder = self._scratch / f"step-{step}"
        bases = {name: weights.detach().numpy() for name, weights in name_parameters(self._source, self._model).items()}
        export_folder(self._source, folder, bases)
        self._engine.load(folder)
        self._log.emit("policy", step=step, left_out=len(rows) - len(used), fingerprint=f"{self.fingerprint():016x}")

    def fingerprint(self):
        """Fingerprint of the weights as they are served."""
        return self._engine.fingerprint()

    def _move(self):
        """One step of the optimiser along the gradients that have been summed."""
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
        self._optimizer.step()

    def _rows(self, step):
        """What is learned from in a step, each as `_row` says, in the order of the requests."""
        answers = sorted(self._engine.answers, key=lambda pair: int(pair[1].request_id.rpartition(".")[2]))
        return [self._row(text, completion) for text, completion in answers]

    def _worth(self, rewards):
        """The weight of each row."""
        return advantages(rewards, self._group)

    def _row(self, text, completion):
        """Prompt and answer as tokens; None where the answer's are not known."""
        answer = self._codec.encode(completion.text) if completion.text else []
        answer += [self._ends[0]] if completion.finish == "stop" else []
        return (self._codec.encode(text), answer) if len(answer) == completion.num_tokens else None


class GradientInSpan(PolicyGradient):
    """The same, but weights move in the span of a guided basis alone, where evolution strategies would move them.

    Adam moves the coordinates on the basis's orthonormal vectors, in units of the length of the weights' movement: what
    this policy gradient finds there.
    """

    def __init__(self, config, engine, log, scratch, rate):
        super().__init__(config, engine, log, scratch, rate)
        basis = load_basis(Path(config.weights.basis), {n: t.shape for n, t in self._source.tensors.items()})
        self._named = name_parameters(self._source, self._model)
        self._start = {name: parameter.detach().clone() for name, parameter in self._named.items()}
        self._vectors = {name: orthonormal(part, basis.mixing) for name, part in basis.parts.items()}
        self._coordinates = torch.zeros(basis.vectors, requires_grad=True)
        self._optimizer = torch.optim.Adam([self._coordinates], lr=rate, betas=(0.9, 0.95))

    def _move(self):
        """See `PolicyGradient`."""
        self._coordinates.grad = sum(rows @ self._named[name].grad.flatten() for name, rows in self._vectors.items())
        self._optimizer.step()
        with torch.no_grad():
            for name, rows in self._vectors.items():
                moved = (self._coordinates @ rows).view_as(self._start[name])
                self._named[name].copy_(self._start[name] + moved)


class ContinuedTraining(PolicyGradient):
    """Fresh texts of the corpus in the place of the answers, every one worth the same, whatever was earned."""

    def __init__(self, config, engine, log, scratch, rate):
        super().__init__(config, engine, log, scratch, rate)
        self._per_step = config.evolution_strategy.members * config.evolution_strategy.children
        self._texts = grammar_texts(CORPUS_SEED + config.seed, config.steps * self._per_step)

    def _rows(self, step):
        """See `PolicyGradient`."""
        texts = self._texts[step * self._per_step : (step + 1) * self._per_step]
        return [(self._codec.encode(t.prompt), [*self._codec.encode(t.completion), self._ends[0]]) for t in texts]

    def _worth(self, rewards):
        """See `PolicyGradient`."""
        return [1.0] * self._per_step


def orthonormal(part, mixing):
    """One tensor's elements of the basis's orthonormal vectors, shape (k, elements)."""
    left, core, right = (torch.from_numpy(values.astype(np.float32)) for values in (part.left, part.core, part.right))
    vectors = torch.from_numpy(part.scale.copy())[:, None, None] * (left @ core @ right)
    return torch.from_numpy(mixing.copy()) @ vectors.flatten(1)


def advantages(rewards, group):
    """Rewards of consecutive groups, each less its mean and over its standard deviation plus 0.1."""
    values = np.asarray(rewards).reshape(-1, group)
    centred = values - values.mean(axis=1, keepdims=True)
    return (centred / (values.std(axis=1, keepdims=True) + 0.1)).reshape(-1)


def loss_of(model, rows):
    """Sum over rows of −advantage · log-likelihood of the answer; rows are padded on the right."""
    longest = max(len(prompt) + len(answer) for (prompt, answer), _ in rows) - 1
    inputs = torch.zeros(len(rows), longest, dtype=torch.long)
    targets = torch.full((len(rows), longest), -100)
    weights = torch.zeros(len(rows), 1)
    for place, ((prompt, answer), advantage) in enumerate(rows):
        whole = torch.tensor([*prompt, *answer])
        inputs[place, : len(whole) - 1] = whole[:-1]
        targets[place, len(prompt) - 1 : len(whole) - 1] = whole[len(prompt) :]
        weights[place] = float(advantage)
    logits = model(input_ids=inputs).logits
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return (losses.view_as(targets) * weights).sum()


def tools_for(config, scratch, rate, learner=PolicyGradient, pool=None):
    """The parts of a probe that learns by backpropagation.

    Args:
        config: The probe's.
        scratch: An empty folder for the weights of every step.
        rate: Adam's learning rate.
        learner: What is followed.
        pool: Opens the evaluation pool; the probe's own if None.
    """
    torch.set_num_threads(1)
    engine = ReloadedEngine(resolve_model(config.model), config.workers)
    return Tools(
        model=lambda config, problem: OpenModel(engine, inspect_folder(engine.folder).card.renderer),
        training=lambda config, model, log, directory: learner(config, engine, log, scratch, rate),
        **({} if pool is None else {"pool": pool}),
    )


def run(values, runs_dir, rate, learner=PolicyGradient, pool=None, keep=None):
    """One probe; `values` are fields of `ProbeConfig`, `keep` a folder for its weights. Returns its result."""
    strategy = FORM["evolution_strategy"] | values.get("evolution_strategy", {})
    config = make_probe_config({**values, **FORM, "evolution_strategy": strategy})
    with tempfile.TemporaryDirectory() as scratch:
        tools = tools_for(config, Path(scratch), rate, learner, pool)
        result = run_probe(config, runs_dir=runs_dir, tools=tools)
        if keep is not None and config.steps:
            shutil.copytree(Path(scratch) / f"step-{config.steps - 1}", keep)
        return result


def main():
    """One probe from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", default="tsp")
    parser.add_argument("--model", default="embedded")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--evaluations", type=int, default=480)
    parser.add_argument("--rate", type=float, default=1e-3, help="Adam's learning rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--runs-dir", type=Path, default=Path("runs"))
    parser.add_argument("--corpus", action="store_true", help="follow the corpus and no reward")
    parser.add_argument("--keep", type=Path, help="a new folder for the weights after the last step")
    options = vars(parser.parse_args())
    rate, runs_dir, keep = (options.pop(name) for name in ("rate", "runs_dir", "keep"))
    learner = ContinuedTraining if options.pop("corpus") else PolicyGradient
    for found in run(options, runs_dir, rate, learner, keep=keep).measurements:
        print(found.model_dump_json())


if __name__ == "__main__":
    main()

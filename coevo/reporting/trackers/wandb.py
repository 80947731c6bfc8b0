"""Weights & Biases. WANDB_PROJECT ("coevo" without), WANDB_MODE, WANDB_RUN_ID and the key are the environment's."""

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from coevo.reporting.trackers.tracker import Tracked


class WandbTracker:
    """See `Tracker`. Joins `wandb.run` where there is one."""

    def open(self, run: Tracked) -> str:
        """See `Tracker`."""
        self._wandb: Any = import_module("wandb")
        self._is_ours = self._wandb.run is None
        self._run = self._begin(run) if self._is_ours else self._wandb.run
        # Steps of coevo's own: those of a run that others log to as well count something else.
        self._run.define_metric("coevo/step")
        self._run.define_metric("coevo/*", step_metric="coevo/step")
        return str(self._run.id)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """See `Tracker`."""
        self._run.log({"coevo/step": step, **{f"coevo/{name}": value for name, value in metrics.items()}})

    def keep(self, name: str, text: str) -> None:
        """See `Tracker`; in the run's summary."""
        self._run.summary[f"coevo/{name}"] = text

    def finish(self) -> None:
        """See `Tracker`."""
        if self._is_ours:
            self._run.finish()

    def _begin(self, run: Tracked) -> Any:
        known = {"id": run.known_as} if run.known_as and "WANDB_RUN_ID" not in os.environ else {}
        return self._wandb.init(
            project=os.environ.get("WANDB_PROJECT", "coevo"),
            name=run.name,
            config=dict(run.config),
            dir=str(run.folder),
            resume="allow",
            settings=self._wandb.Settings(console="off", silent=True, save_code=False, disable_git=True),
            **known,
        )

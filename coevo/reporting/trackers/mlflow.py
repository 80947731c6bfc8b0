"""MLflow. MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_NAME ("coevo" without) and MLFLOW_RUN_ID are the environment's."""

import os
import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from coevo.reporting.trackers.tracker import Tracked

_LONGEST_PARAMETER = 500


class MlflowTracker:
    """See `Tracker`. Joins `mlflow.active_run()` of the thread that opens it, where there is one.

    Everything goes through a client and the run's id: an active run is a matter of one thread.
    """

    def open(self, run: Tracked) -> str:
        """See `Tracker`."""
        mlflow: Any = import_module("mlflow")
        self._metric: Any = import_module("mlflow.entities").Metric
        self._parameter: Any = import_module("mlflow.entities").Param
        self._client: Any = mlflow.MlflowClient()
        active = mlflow.active_run()
        self._is_ours = active is None
        known = os.environ.get("MLFLOW_RUN_ID") or run.known_as
        if active is not None:
            self._id = active.info.run_id
        elif known:
            self._id = self._client.get_run(known).info.run_id
            self._client.update_run(self._id, status="RUNNING")
        else:
            self._id = self._client.create_run(self._experiment(), run_name=run.name).info.run_id
        if not run.known_as:
            parameters = [self._parameter(f"coevo.{key}", text[:_LONGEST_PARAMETER]) for key, text in _flat(run.config)]
            self._client.log_batch(self._id, params=parameters)
        return str(self._id)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """See `Tracker`."""
        now = int(1000 * time.time())
        self._client.log_batch(self._id, [self._metric(name, value, now, step) for name, value in metrics.items()])

    def keep(self, name: str, text: str) -> None:
        """See `Tracker`; as an artifact."""
        self._client.log_text(self._id, text, name)

    def finish(self) -> None:
        """See `Tracker`."""
        if self._is_ours:
            self._client.set_terminated(self._id)

    def _experiment(self) -> str:
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", "coevo")
        found = self._client.get_experiment_by_name(name)
        return str(found.experiment_id if found else self._client.create_experiment(name))


def _flat(config: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Keys of tables joined by dots, values as text."""
    pairs: list[tuple[str, str]] = []
    for key, value in config.items():
        pairs += _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(f"{prefix}{key}", str(value))]
    return pairs

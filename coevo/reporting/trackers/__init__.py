"""Trackers: the numbers of a run, sent to TensorBoard, Weights & Biases, MLflow or Trackio while it runs."""

"""Evaluation: candidate in, verdict out.

    main ── pipe ── judge (trusted, one per worker) ── pipe ── sandbox (untrusted, one per judge)

The sandbox turns a candidate into solutions; the judge turns solutions into costs, on instances that never were in the
sandbox's reach. `pool` is the main process' side, `judge` the other one, `verdict` decides what became of a
candidate, `limits` how long a split may take.
"""

from coevo.evaluation.pool import EvaluationPool as EvaluationPool

"""Will a run work here? Answered before hours are spent: each check is a small function to a `Finding`.

    examining.examine ── pipe ── worker (one process, replaced when it hangs or dies) ── checks.CHECKS

`asked` says what kind of run is meant, `examining` asks the worker for one finding after another, each within its time,
and ends whatever a check has left. The checks take what they look at as arguments, so that each can be shown a machine
that it has to refuse; `checks` is where the real machine is put in.
"""

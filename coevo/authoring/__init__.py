"""A problem of one's own: list what there is, start a folder from a template, check that a folder keeps the contract.

`scaffold` writes the template; `listing` reads metadata alone. `contract` runs the checks, each a small function with a
name in one of the `checks_*` modules: those that run the problem's code do so in a process of their own (`isolated`,
`worker`), because code that is being written may do anything, and those that run heuristics use the real sandbox.
"""

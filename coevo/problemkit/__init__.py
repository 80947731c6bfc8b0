"""What problem folders may use.

Readers of instance and solution files (`tsplib`, `solution_files`, `knapsack_files`, `packing_files`, `arrays`), what a
solution is worth (`tours`, `routes`, `packing`), splits (`splits`), what heuristics return (`returned`), what the
bin-packing problems share (`packing_problem`), the ant colony (`colony`), reference solvers (`solvers`,
`packing_solver`) and drawing (`svg`, `route_drawing`). Each imports NumPy and no more, but for the colony, whose
kernels need Numba; solvers load their optional packages when they are called.
"""

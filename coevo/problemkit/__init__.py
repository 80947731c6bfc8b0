"""What problem folders may use.

Readers of instance and solution files (`tsplib`, `solution_files`, `knapsack_files`, `packing_files`, `arrays`), what a
solution is worth (`tours`, `routes`, `packing`), the ant colony (`colony`), reference solvers (`solvers`,
`packing_solver`) and drawing (`svg`). Each imports NumPy and no more, but for the colony, whose kernels need Numba;
solvers load their optional packages when they are called.
"""

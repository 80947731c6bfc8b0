"""Parts of a run on the nodes of a Ray cluster: connecting, actors that hold a part, and what is said when one is gone.

Ray is a library for the process that it has to itself: it takes over signals, writes to standard output, and may end
the process when a machine is lost. So it is loaded by a process of its own, the envoy, which a run talks to over a
pipe; the run's own process never imports it. What travels is JSON and bytes.
"""

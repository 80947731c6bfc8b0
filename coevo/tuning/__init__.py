"""The training-time loop: an agent plays episodes with perturbed weights, and the weights move towards what scored.

One reward at the end of an episode, no backpropagation, memory as for inference (Agentic ESOpt, arXiv:2608.17310,
section 3.2).
"""

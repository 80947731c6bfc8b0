"""Policy gradients in the same environments, to compare evolution strategies with: GRPO, and PPO whose steps are turns.

They are baselines and no more. Episodes, prompts, sampling, measurements and records are those of `coevo tune`; what
differs is how scores move the weights: by backpropagation, with gradients, optimiser state and activations in memory.
GRPO follows arXiv:2402.03300 in the form that the published runs beside Agentic ESOpt (arXiv:2608.17310, table 1) gave
it: every turn of an episode is an answer with the episode's advantage, and the loss of an answer is the mean over its
tokens, as TRL's `loss_type="grpo"` has it. PPO follows arXiv:1707.06347 with the turn as its step.

The order of things: `turns` keeps the tokens of what was played, `advantages` says how good each turn was, `reading`
gives its probability now, `losses` what to do about it, `training` does it, `trainee` serves the new weights, and
`learner` is what the loop sees. Torch is loaded by the modules below, which nothing imports until a baseline runs.
"""

"""Mathematics for an agent with a shell: work in turns with bash and Python, then one final answer, reward 0 or 1."""

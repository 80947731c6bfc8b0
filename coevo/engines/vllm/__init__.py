"""The engine `vllm`: a model served by vLLM under whatever interpreter has it, its weights moved in place."""

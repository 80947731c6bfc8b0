"""The engine `endpoint`: a model behind an OpenAI-compatible server, whose weights stay as they are."""

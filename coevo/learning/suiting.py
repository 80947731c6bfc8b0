"""Whether an engine can serve what `--model` names, told from the names alone."""

from coevo.engines.endpoint.address import is_address
from coevo.engines.loading import EMBEDDED, PLAYER
from coevo.errors import ConfigError

SCRIPT = 'a JSON list of answers such as [{"text": "42"}, {"text": "7", "match": "3 + 4"}]'
"""What the script of the scripted engine is, in words (`coevo.engines.scripted`)."""


def check_suits(engine: str, model: str) -> None:
    """Do nothing where an engine may find there what it serves.

    An address is not repeated in a message: it may hold a secret.

    Args:
        engine: Its name, or "auto".
        model: What the user or a default names; "" for nothing.

    Raises:
        ConfigError: If the name is of another kind, with what it should be.
    """
    got = "a server's address" if is_address(model) else repr(model) if model else "none"
    if engine == "scripted" and (is_address(model) or model in ("", EMBEDDED, PLAYER)):
        raise ConfigError(
            f"expected --model with --engine scripted: the script file, {SCRIPT}; got {got}; an answer that names a "
            '"match" is given where the prompt contains that text'
        )
    if engine == "endpoint" and not is_address(model):
        raise ConfigError(
            f"expected --model with --engine endpoint: a server's address such as http://127.0.0.1:8000/v1#name; got "
            f"{got}; a model that lies on this machine needs no such flag"
        )
    if engine in ("torch", "vllm") and is_address(model):
        raise ConfigError(
            f"expected a model whose weights are here with --engine {engine}, got {got}; drop --engine to ask the "
            "server, or name a model folder"
        )

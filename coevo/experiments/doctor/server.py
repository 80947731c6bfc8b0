"""A model behind a server: is it reached, and does it have the model?"""

from collections.abc import Mapping

from coevo.engines.endpoint.address import KEY_VARIABLES, parse_address
from coevo.engines.endpoint.engine import open_endpoint
from coevo.engines.endpoint.patience import Patience
from coevo.experiments.doctor.finding import Finding, passed

NAME = "server"
HASTE = Patience(attempts=1, attempt_s=30.0, total_s=30.0)
"""A run waits for minutes; here it is to be known at once."""


def server(model: str, environ: Mapping[str, str], patience: Patience = HASTE) -> Finding:
    """Whether a server is there and has the model; which variable the key is read from, and never the key.

    Args:
        model: Address of the server, `http://host/v1#name`.
        environ: Environment variables.
        patience: How long it is waited for.

    Raises:
        CoevoError: If it is not reached, refuses, or has no such model.
    """
    with open_endpoint(model, patience=patience) as engine:
        name = engine.model
    base_url, _ = parse_address(model)
    sent = next((variable for variable in KEY_VARIABLES if variable in environ), None)
    key = f"with the key in {sent}" if sent and environ[sent].strip() else "without a key"
    return passed(NAME, f"{base_url} is reached {key} and has the model {name}")

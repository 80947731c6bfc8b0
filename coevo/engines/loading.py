"""Find a model folder and check it without torch or transformers.

A model is a Hugging Face folder: `config.json`, safetensors weights, a tokenizer, and optionally `coevo.json`, the
model card that names the renderer its prompts are written by. Only local files are read, code from a model folder is
never run, and whatever cannot be served exactly is refused here, before a process starts.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from coevo.engines.checkpoint import TensorInfo, read_headers
from coevo.engines.storage import CODES, STORAGE
from coevo.errors import ModelError
from coevo.explaining import explain

EMBEDDED = "embedded"
EMBEDDED_FOLDER = Path(__file__).resolve().parent / "embedded" / "model"
PLAYER = "player"
PLAYER_FOLDER = Path(__file__).resolve().parent / "embedded" / "player_model"
CARD_FILE = "coevo.json"

Renderer = Literal["slots", "chat", "plain", "board"]

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.json", "vocab.txt", "tekken.json")


class ModelCard(BaseModel):
    """`coevo.json`: how prompts for this model are written. Keys beyond these are information for the reader."""

    model_config = ConfigDict(frozen=True, extra="allow")

    schema_version: Literal[1] = 1
    renderer: Renderer


@dataclass(frozen=True)
class ModelFolder:
    """A model folder that passed the checks.

    Attributes:
        path: Where it lies.
        card: Its model card, or the default for its tokenizer.
        config: `config.json` as read.
        tensors: Every floating tensor of the checkpoint by name.
    """

    path: Path
    card: ModelCard
    config: Mapping[str, Any]
    tensors: Mapping[str, TensorInfo]

    @property
    def num_parameters(self) -> int:
        """Elements in the checkpoint; tied tensors that are stored twice count twice."""
        return sum(info.size for info in self.tensors.values())

    @property
    def dtype(self) -> str:
        """Type the weights are served in: "float32", "bfloat16" or "float16"; the checkpoint's where config is mute."""
        named = self.config.get("dtype") or self.config.get("torch_dtype")
        if named is not None:
            return str(named)
        stored = {info.dtype for info in self.tensors.values()}
        return CODES[stored.pop()] if len(stored) == 1 else "float32"


def resolve_model(name: str) -> Path:
    """The folder of a model named "embedded" or "player", by path, or by a Hugging Face name already downloaded.

    Nothing is fetched: a name that is not in the local cache is an error that says how to fetch it.

    Raises:
        ModelError: If there is no such folder.
    """
    if (shipped := {EMBEDDED: EMBEDDED_FOLDER, PLAYER: PLAYER_FOLDER}.get(name)) is not None:
        if shipped.is_dir():
            return shipped
        raise ModelError(f"expected the {name} model in {shipped}, found none; reinstall coevo")
    path = Path(name).expanduser()
    if name and path.is_dir():
        return path.resolve()
    if name.lower().startswith(("http://", "https://")):
        raise ModelError(f"expected a model whose weights are here, got the server {name!r}; name its model folder")
    if path.exists() or not _looks_like_hub_name(name):
        raise ModelError(
            f"expected 'embedded', 'player', a model folder or a Hugging Face name, got {name!r}: no such folder"
        )
    return _cached_snapshot(name)


def read_model_card(folder: Path) -> ModelCard:
    """The model card of a folder; without `coevo.json`, "chat" if the tokenizer has a chat template, else "plain".

    Raises:
        ModelError: If `coevo.json` does not parse.
    """
    file = folder / CARD_FILE
    if not file.is_file():
        return ModelCard(renderer="chat" if has_chat_template(folder) else "plain")
    try:
        return ModelCard.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise ModelError(f"{file}: {explain(error)}") from error


def has_chat_template(folder: Path) -> bool:
    """Whether the folder's tokenizer brings a chat template, in any of the places transformers reads it from."""
    if (folder / "chat_template.jinja").is_file() or (folder / "chat_template.json").is_file():
        return True
    file = folder / "tokenizer_config.json"
    return file.is_file() and bool(_read_json(file).get("chat_template"))


def inspect_folder(folder: Path) -> ModelFolder:
    """Check that a folder can be served and read everything known of it without loading its weights.

    Raises:
        ModelError: One line on what is missing, malformed, pickled, quantised or of another type.
    """
    config_file = folder / "config.json"
    if not config_file.is_file():
        raise ModelError(f"expected config.json in the model folder {folder}, found none; name a Hugging Face folder")
    config = _read_json(config_file)
    if config.get("quantization_config"):
        raise ModelError(
            f"expected unquantised weights, got quantization_config in {config_file}; quantised weights cannot be "
            "perturbed, use the unquantised model"
        )
    if not any((folder / name).is_file() for name in _TOKENIZER_FILES):
        raise ModelError(f"expected a tokenizer ({', '.join(_TOKENIZER_FILES)}) in {folder}, found none")
    found = ModelFolder(folder, read_model_card(folder), config, read_headers(folder))
    if found.num_parameters == 0:
        raise ModelError(f"expected floating-point weights in {folder}, found none; use another model")
    if found.dtype not in STORAGE:
        raise ModelError(f"expected a model of type {', '.join(STORAGE)}, got {found.dtype!r} in {config_file}")
    return found


def _looks_like_hub_name(name: str) -> bool:
    owner, _, rest = name.partition("/")
    return bool(owner and rest) and "/" not in rest and not name.startswith((".", "~"))


def _cached_snapshot(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError) as error:
        raise ModelError(
            f"expected a folder or a downloaded Hugging Face model, got {name!r}, which is neither a folder nor in the "
            f"local cache; fetch it with: hf download {name}"
        ) from error


def _read_json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text())
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{file} is not valid JSON ({error}); fetch the model again") from error
    if not isinstance(content, dict):
        raise ModelError(f"expected a JSON object in {file}, got {type(content).__name__}; fetch the model again")
    return content

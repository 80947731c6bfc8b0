import json
import subprocess
import sys

import pytest

from coevo.engines import loading
from coevo.engines.loading import inspect_folder, read_model_card, resolve_model
from coevo.errors import ModelError


def rewrite(folder, file, **changes):
    """Change entries of a JSON file of a model folder."""
    content = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps({**content, **changes}))


def test_a_path_resolves_to_itself(tmp_path):
    """Any folder can be named by its path."""
    assert resolve_model(str(tmp_path)) == tmp_path.resolve()


def test_embedded_is_the_folder_beside_the_code(tmp_path, monkeypatch):
    """The name "embedded" stands for the shipped model; without it the message says where it was looked for."""
    monkeypatch.setattr(loading, "EMBEDDED_FOLDER", tmp_path)
    assert resolve_model("embedded") == tmp_path
    monkeypatch.setattr(loading, "EMBEDDED_FOLDER", tmp_path / "gone")
    with pytest.raises(ModelError, match=r"expected the embedded model in .*gone"):
        resolve_model("embedded")


@pytest.mark.parametrize("name", ["nowhere", "./no/such/folder", "a/b/c"])
def test_an_unknown_model_is_refused(name):
    """Neither a folder nor the shape of a hub name: said in one line, with the name."""
    with pytest.raises(ModelError, match=f"got '{name}': no such folder"):
        resolve_model(name)


def test_a_hub_name_that_is_not_downloaded_tells_how(tmp_path, monkeypatch):
    """Nothing is fetched behind the user's back; the command that fetches it is in the message."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match="fetch it with: hf download nobody/no-model"):
        resolve_model("nobody/no-model")


def test_a_hub_name_resolves_to_its_cached_snapshot(tmp_path, monkeypatch):
    """A model that was downloaded before is found offline."""
    cache = tmp_path / "models--nobody--tiny"
    (cache / "snapshots" / "abc").mkdir(parents=True)
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text("abc")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert resolve_model("nobody/tiny") == cache / "snapshots" / "abc"


@pytest.mark.parametrize(("template", "expected"), [(True, "chat"), (False, "plain")])
def test_without_a_card_the_chat_template_decides(make_model, template, expected):
    """A tokenizer with a chat template is asked in chat, any other in plain text."""
    assert read_model_card(make_model(renderer=None, template=template)).renderer == expected


def test_a_template_in_a_file_of_its_own_counts(make_model):
    """Newer models keep the template outside tokenizer_config.json."""
    folder = make_model(renderer=None)
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    assert read_model_card(folder).renderer == "chat"


def test_the_card_wins_and_may_say_more(make_model):
    """The card's renderer holds whatever the tokenizer; further keys are kept for the reader."""
    folder = make_model(template=True)
    (folder / "coevo.json").write_text('{"schema_version": 1, "renderer": "slots", "steps": 4000}')
    card = read_model_card(folder)
    assert (card.renderer, card.model_extra) == ("slots", {"steps": 4000})


@pytest.mark.parametrize("content", ['{"renderer": "poem"}', '{"schema_version": 2, "renderer": "chat"}', "[", "{}"])
def test_a_bad_card_is_refused(make_model, content):
    """The file is named and the field as well."""
    folder = make_model()
    (folder / "coevo.json").write_text(content)
    with pytest.raises(ModelError, match=r"coevo\.json: "):
        read_model_card(folder)


def test_a_good_folder_tells_what_it_holds(tiny_llama):
    """Size, type and card are known without loading weights."""
    folder = inspect_folder(tiny_llama)
    assert folder.num_parameters == sum(info.size for info in folder.tensors.values()) == 25_920
    assert (folder.dtype, folder.card.renderer) == ("float32", "plain")


@pytest.mark.parametrize(
    ("removed", "message"),
    [
        ("config.json", "expected config.json"),
        ("tokenizer.json", "expected a tokenizer"),
        ("model.safetensors", "expected model.safetensors"),
    ],
)
def test_a_folder_that_lacks_a_file_is_refused(make_model, removed, message):
    """Each missing piece is named together with the folder."""
    folder = make_model()
    (folder / removed).unlink()
    with pytest.raises(ModelError, match=f"{message}.*{folder.name}"):
        inspect_folder(folder)


def test_quantised_models_are_refused(make_model):
    """A quantisation entry in the config is enough."""
    folder = make_model()
    rewrite(folder, "config.json", quantization_config={"bits": 4})
    with pytest.raises(ModelError, match="expected unquantised weights"):
        inspect_folder(folder)


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_config_that_is_not_json_is_refused(make_model, content):
    """A broken download is a message with the file's name."""
    folder = make_model()
    (folder / "config.json").write_text(content)
    with pytest.raises(ModelError, match=r"config\.json"):
        inspect_folder(folder)


def test_checking_a_folder_loads_no_heavy_library(tiny_llama):
    """The main process learns the renderer and refuses bad folders without torch, transformers or numba."""
    code = (
        "import sys; from pathlib import Path; from coevo.engines.loading import inspect_folder;"
        "import coevo.engines.torch_engine, coevo.engines.scripted;"
        "inspect_folder(Path(sys.argv[1]));"
        "sys.exit(any(name in sys.modules for name in ('torch', 'transformers', 'numba')))"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tiny_llama)], check=False).returncode == 0

from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from psychemme.clients import cards
from psychemme.clients.cards import (
    FILE_NAME,
    CardPrice,
    EndpointKind,
    JsonMode,
    ModelCard,
    card_for,
    load_cards,
    schema_text,
)
from psychemme.errors import ConfigError

PAPER = (
    "Claude Opus 5", "Gemini 3.1 Pro", "Gemini 3.6 Flash", "GLM-5V-Turbo", "GPT-5.6 Sol", "Kimi K3",
    "Qwen3.8-Max", "Seed 2.1 Pro", "Qwen3.8-27B", "Qwen3.5-9B", "Qwen3.5-4B Base",
    "InternVL3.5-14B", "InternVL3.5-8B", "InternVL3.5-4B", "Gemma-4-12B-it", "Phi-4-multimodal",
    "MiniCPM-V4.5",
)  # fmt: skip
VIDEO = {"Gemini 3.1 Pro", "Gemini 3.6 Flash", "GLM-5V-Turbo", "Kimi K3", "Qwen3.8-Max",
         "Seed 2.1 Pro"}  # fmt: skip


def write(workspace: Path, *found: dict[str, object]) -> Path:
    (workspace / FILE_NAME).write_text(yaml.safe_dump({"cards": list(found)}), "utf-8")
    return workspace


def test_the_papers_models_are_known_with_their_native_inputs():
    found = {name: card_for(name) for name in PAPER}
    assert not [name for name, card in found.items() if card.is_generic]
    assert {name for name, card in found.items() if card.native_video} == VIDEO
    assert {name for name, card in found.items() if card.native_audio} == {
        "Gemini 3.1 Pro", "Gemini 3.6 Flash"
    }  # fmt: skip
    assert len({card.name for card in found.values()}) == 17


def test_every_price_names_its_source_and_every_hosted_model_its_key():
    for card in load_cards().all:
        assert card.price is None or card.price.source
        if card.base_url:
            assert card.base_url.startswith("https://")
            assert card.key_variable.endswith("_API_KEY")
            assert card.family not in ("unknown", "signal")


def test_a_name_is_found_whatever_its_case_and_an_alias_too():
    assert card_for("QWEN/qwen3.8-27b") == card_for("qwen3.8:27b")
    assert card_for("signal").endpoint is EndpointKind.SIGNAL


def test_an_unknown_name_gets_a_conservative_card_that_says_so():
    card = card_for("my-model")
    assert (card.name, card.is_generic) == ("my-model", True)
    assert not card.native_video
    assert not card.native_audio
    assert card.json_mode is JsonMode.NONE
    assert card.price is None
    assert "models.yaml" in card.notes


def test_a_workspace_overrides_and_adds_cards(tmp_path):
    write(
        tmp_path,
        {"name": "gpt-4.1", "price": {"input": 1, "output": 2}},
        {"name": "mine", "aliases": ["qwen3.8-27b"], "native_video": True},
    )
    own = load_cards(tmp_path)
    assert own.card_for("gpt-4.1").price == CardPrice(input=1, output=2)
    assert own.card_for("qwen3.8-27b").name == "mine"
    assert own.card_for("Qwen/Qwen3.8-27B").name == "Qwen/Qwen3.8-27B"
    assert own.card_for("signal") == card_for("signal", tmp_path) == card_for("signal")
    assert card_for("mine").is_generic


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("cards: [{name: a, native_vidio: true}]", "native_vidio"),
        ("cards: [{name: a}, {name: b, aliases: [A]}]", "'a' names two cards"),
        ("cards: [{name: a, limits: {requests_per_minute: 0}}]", "requests_per_minute"),
        ("cards: [{name: a, key_variable: sk-secret}]", "key_variable"),
        ("cards: [", "cannot be read"),
        ("[]", "no file of model cards"),
        ("", "no file of model cards"),
    ],
)
def test_a_faulty_file_is_refused_by_name(tmp_path, text, named):
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_cards(tmp_path)
    assert named in caught.value.problem
    assert FILE_NAME in caught.value.problem
    assert "docs/models.md" in caught.value.action


def test_the_hash_covers_what_is_sent_and_not_what_it_costs():
    card = card_for("gpt-4.1")
    assert card.hash == card.model_copy(update={"price": None, "notes": "x"}).hash
    assert card.hash != card.model_copy(update={"json_mode": JsonMode.NONE}).hash
    with pytest.raises(ValidationError):
        card.name = "other"


def test_the_schema_file_is_current():
    path = Path(cards.__file__).parent / "cards.schema.json"
    assert path.read_text("utf-8") == schema_text()


def test_the_docs_show_every_key_of_a_card():
    page = (Path(cards.__file__).parents[2] / "docs" / "models.md").read_text("utf-8")
    missing = [name for name in ModelCard.model_fields if f"`{name}`" not in page]
    assert missing == ["is_generic"]

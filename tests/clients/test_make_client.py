import pytest

from psychemme.clients.cards import card_for, generic_card, load_cards
from psychemme.clients.make import NO_KEY, Address, EndpointSettings, address_of, make_client
from psychemme.config import load_settings
from psychemme.errors import ConfigError

KEY = "sk-very-secret"


def test_signal_needs_no_endpoint():
    assert make_client("signal", EndpointSettings()).model == "signal"


async def test_any_other_name_is_a_model_at_the_endpoint():
    client = make_client("big-model", EndpointSettings("http://here/v1", KEY, 5.0, 0))
    assert client.model == "big-model"
    await client.aclose()


@pytest.mark.parametrize(
    ("settings", "variable"),
    [
        (EndpointSettings(api_key=KEY), "PSYCHEMME_BASE_URL"),
        (EndpointSettings("here", KEY), "PSYCHEMME_BASE_URL"),
        (EndpointSettings("http://here/v1", "two words"), "PSYCHEMME_API_KEY"),
    ],
)
def test_what_is_missing_is_named_with_the_next_action(settings, variable):
    with pytest.raises(ConfigError) as caught:
        make_client("big-model", settings)
    assert f"Set {variable}" in caught.value.action
    assert KEY not in str(caught.value)


async def test_an_address_of_ones_own_needs_no_key():
    client = make_client("big-model", EndpointSettings("http://here/v1"))
    assert address_of(generic_card("big-model"), EndpointSettings("http://here/v1")).api_key == (
        NO_KEY
    )
    await client.aclose()


def test_a_providers_key_goes_to_that_provider_alone():
    card, keys = card_for("gpt-4.1"), {"OPENAI_API_KEY": "sk-provider"}
    there = address_of(card, EndpointSettings(api_key=KEY, key_in=keys.get))
    assert (there.base_url, there.api_key) == ("https://api.openai.com/v1", "sk-provider")
    elsewhere = address_of(card, EndpointSettings("http://here/v1", key_in=keys.get))
    assert (elsewhere.base_url, elsewhere.api_key) == ("http://here/v1", NO_KEY)
    with pytest.raises(ConfigError, match="Set OPENAI_API_KEY"):
        address_of(card, EndpointSettings(api_key=KEY, key_in={}.get))


def test_the_key_is_not_shown():
    assert "sk-provider" not in repr(Address("http://here/v1", "sk-provider"))
    assert KEY not in repr(EndpointSettings("http://here/v1", KEY))


URIS_WITH_A_KEY = (
    f"http://user:{KEY}@host/v1",
    f"http://{KEY}@host/v1",
    f"https://host/v1?key={KEY}",
    f"https://host/v1#{KEY}",
    f"s3://user:a/{KEY}@bucket/blobs",
    f"//user:{KEY}@host",
    f"file://user:{KEY}@host/blobs",
)


@pytest.mark.parametrize("name", ["base_url", "media"])
@pytest.mark.parametrize("uri", URIS_WITH_A_KEY)
def test_a_uri_with_a_key_is_refused_and_hidden(tmp_path, monkeypatch, name, uri):
    monkeypatch.setenv(f"PSYCHEMME_{name.upper()}", uri)
    with pytest.raises(ConfigError, match="no user, password, query") as caught:
        load_settings(tmp_path)
    assert KEY not in str(caught.value)
    monkeypatch.delenv(f"PSYCHEMME_{name.upper()}")
    (tmp_path / "models.yaml").write_text(f'cards: [{{name: mine, base_url: "{uri}"}}]')
    with pytest.raises(ConfigError, match="no user, password, query") as caught:
        load_cards(tmp_path)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("uri", ["file:///mnt/@a/what?", "s3://bucket/blobs", "memory://far"])
def test_a_uri_without_a_key_stands(tmp_path, monkeypatch, uri):
    monkeypatch.setenv("PSYCHEMME_MEDIA", uri)
    assert load_settings(tmp_path).settings.media == uri

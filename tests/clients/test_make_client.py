import pytest

from psychemme.clients.make import EndpointSettings, make_client
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
        (EndpointSettings(base_url="http://here/v1"), "PSYCHEMME_API_KEY"),
        (EndpointSettings("here", KEY), "PSYCHEMME_BASE_URL"),
        (EndpointSettings("http://here/v1", "two words"), "PSYCHEMME_API_KEY"),
    ],
)
def test_what_is_missing_is_named_with_the_next_action(settings, variable):
    with pytest.raises(ConfigError) as caught:
        make_client("big-model", settings)
    assert f"Set {variable}" in caught.value.action
    assert KEY not in str(caught.value)


def test_the_key_is_not_shown():
    assert KEY not in repr(EndpointSettings("http://here/v1", KEY))

"""Any endpoint that speaks OpenAI's chat completions: hosted, or a server of one's own."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence
from typing import NamedTuple

import httpx2
import openai

from psychemme.clients.cards import KEY_VARIABLE, JsonMode, ModelCard, TokenLimit, generic_card
from psychemme.clients.failures import GO_ON, ReplyFault
from psychemme.clients.openai_completion import Completion, read_completion
from psychemme.clients.openai_embeddings import read_embeddings
from psychemme.clients.openai_messages import chat_body
from psychemme.clients.part_shapes import JsonObject
from psychemme.clients.protocol import Reply, Request
from psychemme.clients.retries import Throttled, Unanswered, advice
from psychemme.clients.size import timeout_for
from psychemme.clients.structured import next_mode
from psychemme.errors import ConfigError, EndpointError, PsychemmeError, ReplyError

MOST_REREADS = 2
"""How often a request is sent again when an HTTP 200 holds no completion."""

_RESUME = f"then {GO_ON}"
_WRONG_PLACE = (
    "has no model {model!r} at this address",
    f"Check the model's name and PSYCHEMME_BASE_URL (it usually ends in /v1), {_RESUME}",
)
_REFUSALS = {
    401: ("refuses the API key", f"Set {{key_variable}} to a valid key, {_RESUME}"),
    402: ("asks for payment", f"Settle the account or choose another endpoint, {_RESUME}"),
    403: (
        "does not let this API key use the model {model!r}",
        f"Use a key or a model with permission, {_RESUME}",
    ),
    404: _WRONG_PLACE,
    405: _WRONG_PLACE,
}
_TRANSIENT = frozenset({408, 409, 429})
_UNSUPPORTED = frozenset({"unsupported_parameter", "unsupported_value"})
_FILTERED = frozenset({"content_filter", "content_policy_violation"})
_MISUNDERSTOOD = frozenset({400, 422})
_LONGEST_READ = 300


class _Dialect(NamedTuple):
    """What an endpoint was found to take, starting from the model's card."""

    mode: JsonMode
    token_limit: TokenLimit


class OpenAICompatibleClient:
    """Sends what `card` allows; one SDK client is kept for all calls.

    A `response_format` that the endpoint refuses is given up for a looser one, and so is the name
    of the token limit, once for all calls. `key_variable` is where errors send the user for a key.
    `timeout` and `pause` are in seconds; `max_retries` is the SDK's, for connection faults, 408,
    409, 429 and 5xx, with back-off and `Retry-After`. Raises ConfigError for an address or a key
    that no request could carry. Neither key nor server text is ever part of an error.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key: str,
        timeout: float = 120.0,
        http_client: httpx2.AsyncClient | None = None,
        *,
        max_retries: int = 6,
        pause: float = 0.5,
        card: ModelCard | None = None,
        key_variable: str = KEY_VARIABLE,
    ) -> None:
        self.model = model
        self.card = card or generic_card(model)
        self._key_variable = key_variable
        self._address = _address(base_url, api_key)
        self._timeout, self._pause = timeout, pause
        self._dialect = _Dialect(self.card.json_mode, self.card.token_limit)
        # At debug level the SDK logs whole requests, which hold references and cues.
        logging.getLogger("openai").setLevel(logging.WARNING)
        self._sdk = openai.AsyncOpenAI(
            api_key=_checked_key(api_key),
            base_url=base_url,
            timeout=timeout,
            max_retries=max_retries,
            http_client=http_client,
        )
        # The SDK takes these from the environment; they are nobody else's business.
        self._sdk.organization = self._sdk.project = None

    async def aclose(self) -> None:
        """Close every connection."""
        await self._sdk.close()

    @property
    def json_mode(self) -> JsonMode:
        """How replies are held to JSON: as the card says, or looser where that was refused."""
        return self._dialect.mode

    async def complete(self, request: Request) -> Reply:
        """Return the model's reply; `latency` covers the whole call, retries included.

        Raises EndpointError where no request can succeed or the endpoint does not answer,
        ReplyError where this request cannot.
        """
        began = time.monotonic()
        completion = await self._completion(request)
        return Reply(
            text=completion.text,
            model=self.model,
            finish_reason=completion.finish_reason,
            usage=completion.usage,
            latency=time.monotonic() - began,
        )

    async def embed(self, inputs: Sequence[str | JsonObject]) -> list[list[float]]:
        """Return the vector of each of `inputs`, as `POST embeddings` takes them, in their order.

        Raises EndpointError where the endpoint refuses them, does not answer, or gives no vectors.
        """
        body = {**self.card.extra_body, "model": self.model, "input": list(inputs)}
        problem = "does not embed what it is sent"
        action = f"Choose a model that does; docs/models.md shows the request, {_RESUME}"
        try:
            response = await self._sdk.post("/embeddings", cast_to=httpx2.Response, body=body)
        except openai.OpenAIError as error:
            fault = self._translated(error)
            status = getattr(error, "status_code", 0)
        else:
            if (found := read_embeddings(response.text, len(inputs))) is not None:
                return found
            raise self._refusal(problem, response.status_code, action)
        raise fault if isinstance(fault, EndpointError) else self._refusal(problem, status, action)

    async def _completion(self, request: Request) -> Completion:
        for reread in range(MOST_REREADS):
            body = await self._post(request)
            with contextlib.suppress(ReplyError):
                return read_completion(body)
            await asyncio.sleep(self._pause * 2**reread)
        return read_completion(await self._post(request))

    async def _post(self, request: Request) -> str:
        tried = self._dialect
        body = await asyncio.to_thread(chat_body, request, self.model, self.card, *tried)
        try:
            response = await self._sdk.post(
                "/chat/completions",
                cast_to=httpx2.Response,
                body=body,
                options={"timeout": timeout_for(request, self._timeout)},
            )
            return response.text
        except openai.OpenAIError as error:
            fault = error
        # Raised out here, so that no traceback leads to the SDK's request and its headers.
        if (other := _other_dialect(tried, fault)) is not None:
            if self._dialect == tried:  # else another call has learnt more meanwhile
                self._dialect = other
            return await self._post(request)
        raise self._translated(fault)

    def _translated(self, fault: openai.OpenAIError) -> PsychemmeError:
        if not isinstance(fault, openai.APIStatusError):
            return self._unanswered(fault)
        status = fault.status_code
        if status in _TRANSIENT or status >= 500:
            return self._unanswered(fault)
        if status in _REFUSALS:
            problem, action = _REFUSALS[status]
            action = action.format(model=self.model, key_variable=self._key_variable)
            return self._refusal(problem.format(model=self.model), status, action)
        if (parameter := _refused_parameter(fault)) is not None:
            problem = f"does not take the parameter {parameter!r} for the model {self.model!r}"
            return self._refusal(problem, status, "Choose a model that takes it.")
        if fault.code == "model_not_found":
            problem, action = _WRONG_PLACE
            return self._refusal(problem.format(model=self.model), status, action)
        filtered = fault.code in _FILTERED
        return ReplyError(ReplyFault.REFUSED if filtered else ReplyFault.REJECTED)

    def _refusal(self, problem: str, status: int, action: str) -> EndpointError:
        return EndpointError(f"{self._address} {problem} (HTTP {status}).", action, status)

    def _unanswered(self, fault: openai.OpenAIError) -> Unanswered:
        tries, why = 1, "connection failed"
        if isinstance(fault, openai.APIError):
            tries += int(fault.request.headers.get("x-stainless-retry-count", 0))
        action = f"Start the server or wait, {_RESUME}"
        if isinstance(fault, openai.APITimeoutError):
            why, action = "timed out", f"Check the server or raise PSYCHEMME_TIMEOUT, {_RESUME}"
        elif isinstance(fault, openai.APIStatusError):
            why = f"HTTP {fault.status_code}"
        counted = f" after {tries} tries" if tries > 1 else ""
        problem = f"{self._address} did not answer{counted} ({why})."
        if not isinstance(fault, openai.APIStatusError):
            return Unanswered(problem, action)
        if fault.status_code != 429:
            return Unanswered(problem, action, fault.status_code)
        return Throttled(problem, action, advice(fault.response.headers))


def _other_dialect(tried: _Dialect, fault: openai.OpenAIError) -> _Dialect | None:
    """Return what to speak instead, where the endpoint refuses something of `tried`."""
    limit = TokenLimit.MAX_COMPLETION_TOKENS
    if tried.token_limit is not limit and _refused_parameter(fault) == TokenLimit.MAX_TOKENS:
        return tried._replace(token_limit=limit)
    if not isinstance(fault, openai.APIStatusError) or fault.status_code not in _MISUNDERSTOOD:
        return None
    # A long message may quote the prompt, which is no sign of anything.
    mode = next_mode(tried.mode, str(fault.param or fault.message)[:_LONGEST_READ])
    return None if mode is None else tried._replace(mode=mode)


def _refused_parameter(fault: openai.OpenAIError) -> str | None:
    """Return which of our parameters the endpoint refuses for every request, if that is why."""
    if not isinstance(fault, openai.APIStatusError) or fault.code not in _UNSUPPORTED:
        return None
    ours = ("max_tokens", "max_completion_tokens", "temperature", "seed")
    return next((name for name in ours if name == fault.param), None)


def _address(base_url: str, api_key: str) -> str:
    """Return the address without user, password and query, as errors may show it."""
    try:
        url = httpx2.URL(base_url)
    except httpx2.InvalidURL:
        url = httpx2.URL("")
    if url.scheme in ("http", "https") and url.host:
        return str(url.copy_with(userinfo=b"", query=None, fragment=None))
    hidden = "@" in base_url or api_key in base_url
    raise ConfigError(
        f"The base URL {'(hidden)' if hidden else repr(base_url)} is no http:// or https:// URL.",
        "Set PSYCHEMME_BASE_URL to an address such as http://127.0.0.1:8000/v1.",
    )


def _checked_key(api_key: str) -> str:
    if api_key and api_key.isascii() and api_key.isprintable() and " " not in api_key:
        return api_key
    raise ConfigError(
        "The API key is empty or holds a space, a line break or a non-ASCII character.",
        "Set PSYCHEMME_API_KEY to the key alone (any word will do where the server asks for none).",
    )

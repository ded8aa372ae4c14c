"""From a request to the body of a chat completion: text, media, the repair conversation."""

from functools import cache

from pydantic import BaseModel

from psychemme.canonical import canonical_json
from psychemme.clients.cards import JsonMode, ModelCard, TokenLimit
from psychemme.clients.part_shapes import JsonObject, media_parts, text_part
from psychemme.clients.protocol import Request
from psychemme.clients.structured import response_format

SCHEMA_NOTE = "Reply with one JSON object of this schema:"
AGAIN = "Reply again with the JSON object and nothing else."
_EMPTY = "(an empty reply)"


def chat_body(
    request: Request, model: str, card: ModelCard, mode: JsonMode, token_limit: TokenLimit
) -> JsonObject:
    """Return the JSON body of `POST chat/completions`; media are read from disk here.

    `mode` is how the reply is held to JSON, `token_limit` what the endpoint calls the limit of
    output tokens; both may have turned out to be other than the card says. Raises WorkspaceError
    where a medium cannot be read.
    """
    parameters = request.parameters
    body: JsonObject = {
        **card.extra_body,
        "model": model,
        "messages": _messages(request, card),
        str(token_limit): min(
            parameters.max_output_tokens, card.max_output_tokens or parameters.max_output_tokens
        ),
        **response_format(request.reply_schema, mode),
    }
    if card.supports_temperature:
        body["temperature"] = parameters.temperature
    if card.supports_seed and parameters.seed is not None:
        body["seed"] = parameters.seed
    return body


@cache
def _schema_text(schema: type[BaseModel]) -> str:
    return canonical_json(schema.model_json_schema())


def _messages(request: Request, card: ModelCard) -> list[JsonObject]:
    schema = _schema_text(request.reply_schema)
    content: list[JsonObject] = [text_part(request.user)]
    for part in request.media:
        content.extend(media_parts(part, card))
    messages: list[JsonObject] = [
        {"role": "system", "content": f"{request.system}\n\n{SCHEMA_NOTE}\n{schema}"},
        {"role": "user", "content": content if request.media else request.user},
    ]
    for reply, complaint in request.exchange:
        # Some endpoints refuse a conversation with an empty message.
        messages.append({"role": "assistant", "content": reply if reply.strip() else _EMPTY})
        messages.append({"role": "user", "content": f"{complaint}\n{AGAIN}"})
    return messages

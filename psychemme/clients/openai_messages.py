"""From a request to the body of a chat completion: text, frames, the repair conversation."""

import base64

from psychemme.canonical import canonical_json
from psychemme.clients.protocol import MediaPart, Request
from psychemme.errors import WorkspaceError

SCHEMA_NOTE = "Reply with one JSON object of this schema:"
AGAIN = "Reply again with the JSON object and nothing else."
_EMPTY = "(an empty reply)"

JsonObject = dict[str, object]


def chat_body(request: Request, model: str, limit_name: str = "max_tokens") -> JsonObject:
    """Return the JSON body of `POST chat/completions`; frames are read from disk here.

    `limit_name` is what the endpoint calls the limit of output tokens. Raises WorkspaceError where
    a frame cannot be read, ValueError for media other than images.
    """
    parameters = request.parameters
    seed: JsonObject = {} if parameters.seed is None else {"seed": parameters.seed}
    return {
        "model": model,
        "messages": _messages(request),
        "temperature": parameters.temperature,
        limit_name: parameters.max_output_tokens,
        **seed,
    }


def _messages(request: Request) -> list[JsonObject]:
    schema = canonical_json(request.reply_schema.model_json_schema())
    content: list[JsonObject] = [_text(request.user)]
    for part in request.media:
        content.extend(_frame(part))
    messages: list[JsonObject] = [
        {"role": "system", "content": f"{request.system}\n\n{SCHEMA_NOTE}\n{schema}"},
        {"role": "user", "content": content if request.media else request.user},
    ]
    for reply, complaint in request.exchange:
        # Some endpoints refuse a conversation with an empty message.
        messages.append({"role": "assistant", "content": reply if reply.strip() else _EMPTY})
        messages.append({"role": "user", "content": f"{complaint}\n{AGAIN}"})
    return messages


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _frame(part: MediaPart) -> tuple[JsonObject, ...]:
    if part.kind != "image":
        raise ValueError(f"this client sends text and frames, no {part.kind}")
    url = f"data:{part.mime_type};base64,{base64.b64encode(_read(part)).decode()}"
    image: JsonObject = {"type": "image_url", "image_url": {"url": url}}
    return (image,) if part.time is None else (_text(f"frame at {part.time:.2f} s"), image)


def _read(part: MediaPart) -> bytes:
    try:
        return part.path.read_bytes()
    except OSError as error:
        raise WorkspaceError(
            f"The frame {part.path} cannot be read ({error.strerror}).",
            "Run `psychemme prepare`, then `psychemme generate --resume`.",
        ) from None

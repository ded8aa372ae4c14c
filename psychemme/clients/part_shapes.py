"""How a medium is spelled in a message: the JSON of each part shape."""

import base64

from psychemme.clients.cards import ModelCard, PartShape
from psychemme.clients.failures import GO_ON
from psychemme.clients.protocol import MediaPart
from psychemme.errors import WorkspaceError

JsonObject = dict[str, object]

_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_HEADERS = {"image": "frame at {time:.2f} s", "video": "the episode as video",
            "audio": "the episode's sound"}  # fmt: skip


def text_part(text: str) -> JsonObject:
    """Return a text as a part."""
    return {"type": "text", "text": text}


def media_parts(part: MediaPart, card: ModelCard) -> tuple[JsonObject, ...]:
    """Return the medium as `card` spells it, after a text that says what it is.

    The file is read here. Raises WorkspaceError where it cannot be read.
    """
    header = _header(part)
    shape = {"image": card.parts.image, "video": card.parts.video, "audio": card.parts.audio}
    spelled = _spelled(shape[part.kind], part)
    return (spelled,) if header is None else (text_part(header), spelled)


def _header(part: MediaPart) -> str | None:
    if part.kind == "image" and part.time is None:
        return None
    return _HEADERS[part.kind].format(time=part.time)


def _spelled(shape: PartShape, part: MediaPart) -> JsonObject:
    encoded = base64.b64encode(_read(part)).decode()
    url = f"data:{part.mime_type};base64,{encoded}"
    if shape in (PartShape.INPUT_AUDIO, PartShape.INPUT_AUDIO_URL):
        data = encoded if shape is PartShape.INPUT_AUDIO else url
        return {
            "type": "input_audio",
            "input_audio": {"data": data, "format": _FORMATS[part.mime_type]},
        }
    return {"type": str(shape), str(shape): {"url": url}}


def _read(part: MediaPart) -> bytes:
    try:
        return part.path.read_bytes()
    except OSError as error:
        what = "frame" if part.kind == "image" else part.kind
        raise WorkspaceError(
            f"The {what} {part.path} cannot be read ({error.strerror}).",
            f"Restore it (`psychemme prepare` makes a workspace's media), then {GO_ON}",
        ) from None

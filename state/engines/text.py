"""Text that both engines store alike."""

import re

from sqlalchemy import Engine, event

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def storable(text: str) -> str:
    """Return `text` with U+FFFD for what a database refuses: NUL and lone surrogates."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def keep_storable(engine: Engine) -> Engine:
    """Make every text that statements of `engine` carry storable, and return it."""

    @event.listens_for(engine, "before_cursor_execute", retval=True)
    def _replace(
        _connection: object, _cursor: object, statement: str, parameters: object, *_: object
    ) -> tuple[str, object]:
        return statement, _storable(parameters)

    return engine


def _storable(value: object) -> object:
    if isinstance(value, str):
        return storable(value) if not value.isascii() or "\0" in value else value
    if isinstance(value, dict):
        return {name: _storable(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_storable(one) for one in value)
    return value

"""From a reply schema to what endpoints accept as `response_format`."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

from psychemme.clients.cards import JsonMode

JsonObject = dict[str, object]

# Limits of length, range and pattern are left out: some endpoints refuse them, and every reply is
# validated here anyway.
_KEPT = ("type", "enum", "const", "description")
_NEXT = {JsonMode.JSON_SCHEMA: JsonMode.JSON_OBJECT, JsonMode.JSON_OBJECT: JsonMode.NONE}
_SIGNS = ("response_format", "json_schema", "json_object", "guided", "grammar")


def response_format(schema: type[BaseModel], mode: JsonMode) -> JsonObject:
    """Return the part of a request's body that holds the reply to `schema` in `mode`."""
    if mode is JsonMode.JSON_SCHEMA:
        named = {"name": schema.__name__, "strict": True, "schema": strict_schema(schema)}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    if mode is JsonMode.JSON_OBJECT:
        return {"response_format": {"type": "json_object"}}
    return {}


@cache
def strict_schema(schema: type[BaseModel]) -> Mapping[str, Any]:
    """Return the JSON Schema of `schema` in the part that strict endpoints share.

    Every object is closed and requires all of its keys, references are put in place, and only
    types, choices and descriptions are kept. Raises ValueError for a schema that holds itself.
    """
    whole = schema.model_json_schema()
    return _strict(whole, whole.get("$defs", {}), ())


def next_mode(mode: JsonMode, refusal: str) -> JsonMode | None:
    """Return the next looser mode, where `refusal`, the endpoint's own words, is about this one."""
    said = refusal.casefold()
    return _NEXT.get(mode) if any(sign in said for sign in _SIGNS) else None


def _strict(
    node: Mapping[str, Any], named: Mapping[str, Any], inside: tuple[str, ...]
) -> dict[str, Any]:
    if (reference := node.get("$ref")) is not None:
        name = str(reference).rpartition("/")[2]
        if name in inside:
            raise ValueError(f"the schema {name} holds itself")
        return _strict(named[name], named, (*inside, name))
    strict = {key: node[key] for key in _KEPT if key in node}
    if (choices := node.get("anyOf")) is not None:
        strict["anyOf"] = [_strict(choice, named, inside) for choice in choices]
    if (items := node.get("items")) is not None:
        strict["items"] = _strict(items, named, inside)
    if (properties := node.get("properties")) is not None:
        strict["properties"] = {k: _strict(v, named, inside) for k, v in properties.items()}
        strict |= {"required": list(properties), "additionalProperties": False}
    return strict

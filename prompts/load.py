"""Render a prompt from its file: strict about inputs, stamped with the file's hash."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from pydantic import ValidationError

from prompts.blocks import FORMATTERS
from psychemme.episode import Value
from psychemme.errors import ConfigError
from psychemme.vocabulary import Role

if TYPE_CHECKING:
    from langchain_core.prompts import ChatPromptTemplate

ROOT = Path(__file__).parent
_PARTS = re.compile(r"\A---\n(.*?)\n---\n\s*# System\n(.*)\n# User\n(.*)\Z", re.DOTALL)


class Head(Value):
    """A template's front matter; `inputs` are the variables it uses, each exactly named."""

    id: str
    version: str
    role: Role
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class Template:
    """A prompt file; `hash` is the SHA-256 of its bytes (hex)."""

    head: Head
    hash: str
    chat: "ChatPromptTemplate"


@dataclass(frozen=True)
class Rendered:
    """A prompt ready to send, and which template made it."""

    prompt_id: str
    version: str
    hash: str
    system: str
    user: str


def prompt_ids() -> tuple[str, ...]:
    """Return the ids of the prompts at hand, sorted."""
    return tuple(sorted(path.stem for path in ROOT.glob("*.md")))


def prompt_hash(prompt_id: str) -> str:
    """Return the SHA-256 of the template `prompt_id` (hex); raises ConfigError for another id."""
    return hashlib.sha256(_path(prompt_id).read_bytes()).hexdigest()


def render(prompt_id: str, inputs: Mapping[str, object]) -> Rendered:
    """Return the prompt `prompt_id` filled with `inputs`, one value per declared input.

    Raises ConfigError for an unknown id, and naming all missing and all unused inputs.
    """
    return fill(_load(_path(prompt_id)), inputs)


def fill(template: Template, inputs: Mapping[str, object]) -> Rendered:
    """Return `template` filled with `inputs`; raises ConfigError as `render` does."""
    head = template.head
    _refuse_mismatch(head, set(inputs))
    texts = {name: FORMATTERS[name](value) for name, value in inputs.items()}
    system, user = (str(message.content) for message in template.chat.format_messages(**texts))
    return Rendered(head.id, head.version, template.hash, system.strip(), user.strip())


def read_template(path: Path) -> Template:
    """Return the template in `path`; raises ConfigError naming every fault of the file."""
    # Takes about a second, which commands that render nothing need not wait for.
    from langchain_core.prompts import ChatPromptTemplate

    content = path.read_bytes()
    head, system, user = _split(path, content.decode())
    try:
        chat = ChatPromptTemplate.from_messages([("system", system), ("human", user)])
    except ValueError as error:
        raise _refusal(path, [str(error)]) from None
    if faults := _faults(path, head, set(chat.input_variables)):
        raise _refusal(path, faults)
    return Template(head, hashlib.sha256(content).hexdigest(), chat)


_load = cache(read_template)


@cache
def _path(prompt_id: str) -> Path:
    if prompt_id not in prompt_ids():
        known = ", ".join(prompt_ids())
        raise ConfigError(f"There is no prompt {prompt_id!r}.", f"Use one of: {known}.")
    return ROOT / f"{prompt_id}.md"


def _split(path: Path, text: str) -> tuple[Head, str, str]:
    if (parts := _PARTS.match(text)) is None:
        raise _refusal(path, ["it lacks front matter, `# System` or `# User`, in this order"])
    try:
        head = Head.model_validate(yaml.safe_load(parts[1]))
    except (ValidationError, yaml.YAMLError) as error:
        raise _refusal(path, [str(error)]) from None
    return head, parts[2], parts[3]


def _faults(path: Path, head: Head, used: set[str]) -> list[str]:
    declared = set(head.inputs)
    checks = {
        f"id {head.id!r} is not the file's name": {head.id} - {path.stem},
        "declared and never used": declared - used,
        "used and not declared": used - declared,
        "without a formatter": (used | declared) - set(FORMATTERS),
    }
    return [f"{rule}: {', '.join(sorted(names))}" for rule, names in checks.items() if names]


def _refuse_mismatch(head: Head, given: set[str]) -> None:
    declared = set(head.inputs)
    checks = {"misses": declared - given, "has no use for": given - declared}
    problems = [f"{rule} {', '.join(sorted(names))}" for rule, names in checks.items() if names]
    if problems:
        raise ConfigError(
            f"The prompt {head.id!r} {' and '.join(problems)}.",
            f"Pass exactly: {', '.join(head.inputs)}.",
        )


def _refusal(path: Path, faults: list[str]) -> ConfigError:
    listed = "\n".join(f"  - {fault}" for fault in faults)
    return ConfigError(f"{path} cannot be used:\n{listed}\n", "Correct the template.")

"""A client that says what a script tells it to, for tests and dry runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from pydantic import BaseModel

from psychemme.clients.protocol import Reply, Request
from psychemme.errors import PsychemmeError
from psychemme.vocabulary import Role

Said = str | BaseModel | Reply
"""Text, a value to be sent as JSON, or a whole reply with its finish reason."""

Line = Said | Callable[[Request], Said]
Script = Mapping[Role, Sequence[Line]] | Callable[[Request], Said]


class ScriptExhausted(PsychemmeError):
    """The script holds no further reply for a role."""


class ScriptedClient:
    """Replies by role from a script, in order of arrival; `requests` keeps what was asked."""

    def __init__(self, model: str, script: Script) -> None:
        self.model = model
        self.requests: list[Request] = []
        self._script = script
        self._lines: dict[Role, Iterator[Line]] = (
            {} if callable(script) else {role: iter(lines) for role, lines in script.items()}
        )

    async def complete(self, request: Request) -> Reply:
        """Return the next reply; raises ScriptExhausted where the role has none left."""
        self.requests.append(request)
        line = self._script if callable(self._script) else self._next(request.role)
        said = line(request) if callable(line) else line
        if isinstance(said, Reply):
            return said
        text = said if isinstance(said, str) else said.model_dump_json()
        return Reply(text=text, model=self.model)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to release."""

    def _next(self, role: Role) -> Line:
        try:
            return next(self._lines[role])
        except (KeyError, StopIteration):
            asked = sum(request.role == role for request in self.requests)
            raise ScriptExhausted(f"the script has no reply number {asked} for {role}") from None

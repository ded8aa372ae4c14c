"""Where the Shared State is: a SQLite file, or a PostgreSQL database and its passwords."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from psychemme.config import PASSWORD_PREFIX, SECRETS_VARIABLE, Settings, database_passwords
from psychemme.errors import ConfigError
from state.roles import DbRole

ADMIN = "admin"
FILE_NAME = "state.db"
LOGINS = (*map(str, DbRole), ADMIN)
"""Who has a password: every database role, and whoever creates and upgrades the database."""
_DEFAULT_PORT = 5432


@dataclass(frozen=True)
class PostgresAddress:
    """A PostgreSQL database; `passwords` are keyed by database role, and `admin`."""

    host: str
    port: int
    database: str
    passwords: Mapping[str, SecretStr] = field(default_factory=dict, repr=False, compare=False)
    admin: str = "postgres"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"postgresql://{host}:{self.port}/{self.database}"

    def user(self, login: str) -> str:
        """Return the name of a login of `LOGINS` on the server."""
        return self.admin if login == ADMIN else f"psychemme_{login}"

    def password(self, login: str) -> str:
        """Return the password of a login of `LOGINS`; raises ConfigError where it is not known."""
        if login not in self.passwords:
            raise ConfigError(
                f"The password of the database role `{login}` is not known.",
                f"Set {place_of(login)}.",
            )
        return self.passwords[login].get_secret_value()


def place_of(login: str) -> str:
    """Return, in words, where the password of a login is set."""
    variable = f"{PASSWORD_PREFIX}{login.upper()}"
    return f"{variable}, or `{login}` in the file that {SECRETS_VARIABLE} names"


Address = Path | PostgresAddress


def address_of(root: Path, settings: Settings) -> Address:
    """Return the Shared State of the workspace at `root`: its own file, or what is set.

    Raises ConfigError where the file of passwords cannot be used.
    """
    if settings.database is None:
        return root / FILE_NAME
    parts = urlsplit(settings.database)
    return PostgresAddress(
        host=parts.hostname or "",
        port=parts.port or _DEFAULT_PORT,
        database=parts.path.removeprefix("/"),
        passwords=database_passwords(LOGINS),
        admin=settings.database_admin,
    )

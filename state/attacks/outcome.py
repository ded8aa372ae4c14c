"""What an attack gave back."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """All that a statement gave back as text: rows and notices, or how it was refused."""

    is_refused: bool
    said: str

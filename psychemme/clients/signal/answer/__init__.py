"""The answerer: reads a question as plain text and measures the episode for itself."""

from psychemme.clients.signal.answer.respond import answer

__all__ = ["answer"]

"""The proposer: collects facts, phrases one as a question, and revises by typed feedback."""

from psychemme.clients.signal.question.propose import propose

__all__ = ["propose"]

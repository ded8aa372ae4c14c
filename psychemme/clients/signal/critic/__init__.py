"""The critic: checks cues, target and both answers by measurements of its own."""

from psychemme.clients.signal.critic.criticise import criticise

__all__ = ["criticise"]

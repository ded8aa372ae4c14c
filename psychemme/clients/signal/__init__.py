"""Agents without a language model: they ground questions in what was measured.

The three roles share the tables of `facts` and nothing else, so that where they disagree, two
measurements disagree.
"""

from psychemme.clients.signal.client import SignalClient

__all__ = ["SignalClient"]

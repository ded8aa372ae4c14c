"""Attacks on a Shared State: what each role must not reach, and statements that try to."""

from state.attacks.report import AttackReport, attack
from state.attacks.runner import Leak, Tally

__all__ = ["AttackReport", "Leak", "Tally", "attack"]

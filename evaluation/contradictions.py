"""Judgements whose reason says the opposite of their label: flagged for a reader, never rescored.

A fixed set of rules over wording, English and Chinese, that prefers missing a contradiction to
inventing one:

1. Quotations are taken out, and so is everything up to the last "but" or "however" of the reason:
   what follows decides. A reason that concedes or supposes ("although", "if", "would") is not read.
2. Double negatives and denied faults ("not without evidence", "no contradiction", "nothing
   conflicts") are taken out.
3. What is left must make a whole statement of one side, about the explanation and nothing else, and
   hold no word of the other side: no hedge ("partly", "one claim", "minor"), and no option,
   reference or other answer as its subject.

| flag | the label | while its reason says |
|---|---|---|
| `support_denied` | strong, normal | that nothing in the explanation has evidence |
| `support_contradicted` | strong | that the cues conflict with the explanation |
| `support_praised` | insufficient, contradicted | that the cues fully support the explanation |
| `logic_denied` | fully coherent, acceptable | that the rationales conflict, or hold no reasoning |
| `logic_praised` | contradictory, unevaluable | that they are coherent and lead to the answer |
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from evaluation.contradiction_wording import (
    COHERENT,
    CONFLICTING,
    DENIED_FAULT,
    FAVOURABLE,
    INCOHERENT,
    PARTIAL,
    QUOTED,
    SUPPORTED,
    SUPPOSED,
    TURN,
    UNFAVOURABLE,
    UNSUPPORTED,
)
from evaluation.judge import Judgement
from evaluation.scoring import EvidenceSupport, LogicalIntegrity

LONGEST = 2_000
"""Characters of a reason; a longer one, which is no sentence or two, is not read."""


class Contradiction(StrEnum):
    """How a judgement's reason contradicts its label."""

    SUPPORT_DENIED = "support_denied"
    SUPPORT_CONTRADICTED = "support_contradicted"
    SUPPORT_PRAISED = "support_praised"
    LOGIC_DENIED = "logic_denied"
    LOGIC_PRAISED = "logic_praised"


def contradictions(judgement: Judgement) -> tuple[Contradiction, ...]:
    """Return how the reasons of a judgement contradict its labels; mostly nothing."""
    found = (
        _of_support(judgement.evidence_support, _decisive(judgement.evidence_reason)),
        _of_logic(judgement.logical_integrity, _decisive(judgement.logic_reason)),
    )
    return tuple(each for each in found if each is not None)


def count_contradictions(judgements: Iterable[Judgement]) -> dict[str, int]:
    """Return how many judgements have each flag that occurs."""
    found = Counter(flag for judgement in judgements for flag in contradictions(judgement))
    return {str(flag): found[flag] for flag in Contradiction if found[flag]}


def _of_support(label: EvidenceSupport, said: str) -> Contradiction | None:
    if label in (EvidenceSupport.STRONG, EvidenceSupport.NORMAL):
        if _says(said, UNSUPPORTED, FAVOURABLE, PARTIAL):
            return Contradiction.SUPPORT_DENIED
        if label is EvidenceSupport.STRONG and _says(said, CONFLICTING, FAVOURABLE, PARTIAL):
            return Contradiction.SUPPORT_CONTRADICTED
    if label in (EvidenceSupport.INSUFFICIENT, EvidenceSupport.CONTRADICTED) and _says(
        said, SUPPORTED, UNFAVOURABLE, PARTIAL
    ):
        return Contradiction.SUPPORT_PRAISED
    return None


def _of_logic(label: LogicalIntegrity, said: str) -> Contradiction | None:
    if label in (LogicalIntegrity.FULLY_COHERENT, LogicalIntegrity.ACCEPTABLE) and _says(
        said, INCOHERENT, FAVOURABLE, PARTIAL
    ):
        return Contradiction.LOGIC_DENIED
    if label in (LogicalIntegrity.CONTRADICTORY, LogicalIntegrity.UNEVALUABLE) and _says(
        said, COHERENT, UNFAVOURABLE, PARTIAL
    ):
        return Contradiction.LOGIC_PRAISED
    return None


def _says(said: str, statement: re.Pattern[str], *but_not: re.Pattern[str]) -> bool:
    return bool(statement.search(said)) and not any(each.search(said) for each in but_not)


def _decisive(reason: str) -> str:
    """Return what of a reason decides, in lower case; nothing where it concedes or supposes."""
    if len(reason) > LONGEST:
        return ""
    text = unicodedata.normalize("NFKC", reason).casefold().replace("’", "'")
    text = TURN.split(QUOTED.sub(" ", " ".join(text.split())))[-1]
    return "" if SUPPOSED.search(text) else DENIED_FAULT.sub(" ", text)

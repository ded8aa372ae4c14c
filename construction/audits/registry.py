"""All audits, in the order in which they are reported."""

from collections.abc import Sequence

from construction.audits.bias import BIAS_AUDITS
from construction.audits.classifier import CLASSIFIER_AUDIT
from construction.audits.cues import CUE_AUDITS
from construction.audits.entailment import NAME, TITLE, Entails, mutual_entailment
from construction.audits.meaning import MEANING, MEANING_TITLE, Vectors, similar_meaning
from construction.audits.options import (
    answer_sanity,
    option_count,
    option_duplicates,
    option_similarity,
    reference_echo,
)
from construction.audits.referents import ambiguous_referents, may_be_several
from construction.audits.results import Audit, each
from construction.audits.similar import SIMILAR_AUDITS
from construction.audits.speech import SPEECH_AUDITS
from construction.audits.values import AuditItem, AuditResult, AuditSettings
from construction.audits.variety import VARIETY_AUDITS

AUDITS: tuple[Audit, ...] = (
    each("option_count", "Number of options", option_count),
    each(
        "option_duplicates",
        "Options that say the same",
        option_duplicates,
        lambda item: item.format.is_choice,
        "no choice item",
    ),
    each(
        "option_similarity",
        "Options that say almost the same",
        option_similarity,
        lambda item: item.format.is_choice,
        "no choice item",
    ),
    each("answer_sanity", "Answers that do not fit their format", answer_sanity),
    each("reference_echo", "Correct answer repeated in the question", reference_echo),
    Audit(NAME, TITLE, "item", lambda items, _: mutual_entailment(items, None)),
    *BIAS_AUDITS,
    CLASSIFIER_AUDIT,
    *SIMILAR_AUDITS,
    Audit(
        MEANING,
        MEANING_TITLE,
        "item",
        lambda items, settings: similar_meaning(items, settings, None),
    ),
    each(
        "ambiguous_referents",
        "Pronoun or bare noun with several people",
        ambiguous_referents,
        may_be_several,
        "no item has several people seen or heard",
    ),
    *CUE_AUDITS,
    *SPEECH_AUDITS,
    *VARIETY_AUDITS,
)


def run_audits(
    items: Sequence[AuditItem],
    settings: AuditSettings | None = None,
    entails: Entails | None = None,
    vectors: Vectors | None = None,
) -> tuple[AuditResult, ...]:
    """Return every audit's result, the same for the same items in the same order.

    `entails` says of two options whether they entail each other, `vectors` hold those of the texts
    that items ask; the audits that need them are not run without. Raises ValueError where two items
    share an id.
    """
    if len({item.id for item in items}) < len(items):
        raise ValueError("two items share an id")
    chosen = settings or AuditSettings()
    runs = {audit.name: audit.run for audit in AUDITS}
    runs[NAME] = lambda items, _: mutual_entailment(items, entails)
    runs[MEANING] = lambda items, settings: similar_meaning(items, settings, vectors)
    return tuple(run(items, chosen) for run in runs.values())

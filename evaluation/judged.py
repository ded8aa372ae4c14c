"""Which of a run's judgements stand: those made under the references of the release at hand.

A release may correct references and leave all that models see as it was, so that runs outlive it.
A judgement under another reference is then no judgement of the item. Earlier versions kept no
reference with a judgement; theirs stand for the release version that the run names, and no other.
"""

from collections.abc import Mapping
from typing import TypeVar

from evaluation.judge import Judgement, reference_digest
from evaluation.manifest import RunManifest
from evaluation.store import UNKNOWN_REFERENCE, RunStore
from psychemme.errors import ConfigError
from psychemme.release.read import Release

Rater = tuple[str, int]
"""A judge and its repeat, from 0."""

Judged = Mapping[Rater, Mapping[str, Judgement]]
"""Each rater's judgements, by item id."""

_NAMELESS = "a judge without a name"
T = TypeVar("T")


def is_named(manifest: RunManifest, release: Release) -> bool:
    """Return whether `release` is the very version that the run names."""
    named, facts = manifest.release, release.manifest
    return (named.name, named.version) == (facts.name, facts.version)


def standing(manifest: RunManifest, release: Release) -> dict[str, frozenset[str]]:
    """Return the digests under which judgements of a run's items stand, by item."""
    references = release.references()
    earlier = {UNKNOWN_REFERENCE} if is_named(manifest, release) else set()
    return {
        name: frozenset({reference_digest(references[name]), *earlier}) for name in manifest.items
    }


def read_judgements(manifest: RunManifest, release: Release, store: RunStore) -> Judged:
    """Return every rater's judgements of a run that stand."""
    return {
        rater: {name: Judgement.model_validate_json(text) for name, (text, _) in judged.items()}
        for rater, judged in sorted(store.judgements(standing(manifest, release)).items())
    }


def chosen(
    found: Mapping[Rater, Mapping[str, T]], judge: str | None, repeat: int
) -> Mapping[str, T]:
    """Return one judge's judgements by item; without a name, the only judge's there is.

    A run that nobody judged has none, whoever is named. Raises ConfigError naming the
    judges where `judge` is none of them or could be several.
    """
    judges = sorted({name for name, _ in found})
    if judges and judge not in judges and (judge is not None or len(judges) > 1):
        raise ConfigError(
            f"The run was judged by {', '.join(name or _NAMELESS for name in judges)}.",
            "Name one of them with --judge.",
        )
    return found.get((judge or (judges[0] if judges else ""), repeat), {})

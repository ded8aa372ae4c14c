"""What it would take to have a model rate the clips, before it is asked."""

from collections.abc import Sequence
from dataclasses import dataclass

from construction.prepare import measure_here
from construction.screening.due import calls_about, refuse_model, spent_on
from construction.workspace import Workspace
from psychemme.clients.cards import load_cards
from psychemme.clients.size import input_tokens
from psychemme.clients.terms import terms_of
from psychemme.config import Settings
from psychemme.errors import WorkspaceError
from psychemme.media.blobs import BlobStore
from psychemme.media.prepare import PreparedClip
from psychemme.media.settings import MediaSettings
from psychemme.vocabulary import ScreeningMaker
from state.clips import ClipStore
from state.screening import ScreeningStore
from state.values import ClipRecord

ASSUMED_OUTPUT = 250
"""Tokens of a reply, where nothing bounds it."""


@dataclass(frozen=True)
class RatingEstimate:
    """What the calls that are due would take; costs in US dollars, None where no price is known.

    `cost` is a bound, at replies of the longest length allowed. `unscreened` clips are left out;
    `spent` is what all ratings took so far.
    """

    model: str
    calls: int
    input_tokens: int
    cost: float | None
    expected_cost: float | None
    unscreened: int
    spent: float | None


def estimate_rating(workspace: Workspace, settings: Settings, model: str) -> RatingEstimate:
    """Return what asking would take, of the clips that were screened; asks and stores no verdict.

    Raises ConfigError where the model will not do, WorkspaceError where no clip was screened.
    """
    cards = load_cards(workspace.root)
    refuse_model(model, cards)
    with ScreeningStore(workspace.database) as store, ClipStore(workspace.database) as clips:
        words, every = store.standing(), clips.clips()
        unscreened = sum(ScreeningMaker.RULES not in words.get(c.id, {}) for c in every)
        if unscreened == len(every):
            raise WorkspaceError("No clip has been screened yet.", "Run `psychemme screen` first.")
        prepared = _measured(workspace, settings, every)
        due = calls_about(workspace, settings, model, store, prepared).due
        spent = spent_on(store)
    tokens = sum(input_tokens(one.request) for one in due)
    price = terms_of(model, settings, cards).price
    most, likely = len(due) * settings.max_output_tokens, len(due) * ASSUMED_OUTPUT
    return RatingEstimate(
        model,
        calls=len(due),
        input_tokens=tokens,
        cost=None if price is None else price.of(tokens, most),
        expected_cost=None if price is None else price.of(tokens, likely),
        unscreened=unscreened,
        spent=spent,
    )


def _measured(
    workspace: Workspace, settings: Settings, clips: Sequence[ClipRecord]
) -> dict[str, PreparedClip]:
    jobs = [(clip.path, clip.sha256) for clip in clips]
    blobs = BlobStore(workspace.blobs, settings.media)
    return dict(measure_here(jobs, MediaSettings(asr=settings.asr), blobs, settings.workers))

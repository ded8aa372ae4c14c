"""Stored candidates and episodes as sampling and coverage count them."""

from construction.coverage import Outcome
from construction.sampling import EpisodeFacts
from psychemme.vocabulary import DurationBand
from state.values import CandidateOutcome, ClipRecord, EpisodeRecord


def as_outcome(outcome: CandidateOutcome, facts: EpisodeFacts) -> Outcome:
    """Return a candidate as sampling and coverage count it."""
    return Outcome(
        episode_id=outcome.target.episode_id,
        capability=outcome.target.capability,
        format=outcome.target.format,
        source_group=facts.source_group,
        duration_band=facts.duration_band,
        state=outcome.state,
        reason=outcome.reason,
        batch=outcome.target.batch,
    )


def as_facts(episode: EpisodeRecord, clip: ClipRecord) -> EpisodeFacts:
    """Return what the sampler knows of an episode."""
    return EpisodeFacts(
        id=episode.id,
        source_group=clip.source_group,
        source_video_id=clip.source_video_id,
        duration_band=DurationBand.of(episode.content.duration),
        has_history=bool(episode.content.history),
        has_speech=bool(episode.content.transcript or episode.content.signals.speech),
    )

"""Audits of cues, and of what is seen and said after the moment of decision."""

from collections.abc import Sequence

from construction.audits.results import Audit, by_capability, each, facts, share
from construction.audits.values import AuditItem, AuditResult, AuditSettings, Finding, Share
from construction.audits.wording import content_words
from psychemme.episode import Episode, Utterance
from psychemme.items import Cue
from psychemme.vocabulary import Capability, Modality

_TOLERANCE_S = 0.05
_TIMED = frozenset({Modality.SPEECH, Modality.VISUAL, Modality.PROSODY})
_DECIDED = frozenset({Capability.TIMING, Capability.RESPONSE, Capability.ACTION})
_EARLY = 0.1
_FEWEST_WORDS = 3


def cue_validity(item: AuditItem, settings: AuditSettings) -> str | None:
    """Say which cue lies outside the episode, is too narrow or wide, or has nothing under it."""
    if item.episode is None:
        return None
    if not item.cues:
        return "no cue"
    faults = (_fault(cue, item.episode, settings) for cue in item.cues)
    return next((f"cue {n} {fault}" for n, fault in enumerate(faults, 1) if fault), None)


def _fault(cue: Cue, episode: Episode, settings: AuditSettings) -> str | None:
    window = f"{cue.start:.2f}-{cue.end:.2f} s"
    if not 0 <= cue.start < cue.end <= episode.duration + _TOLERANCE_S:
        return f"({window}) is not inside the {episode.duration:.2f} s of the episode"
    if cue.modality is Modality.HISTORY:
        return None if episode.history else "is of a history that is not there"
    width = cue.end - cue.start
    if width < settings.cue_narrowest:
        return f"({window}) is narrower than {settings.cue_narrowest:g} s"
    widest = max(settings.cue_widest * episode.duration, settings.cue_always)
    if cue.modality in _TIMED and width > widest:
        return f"({window}) is wider than {widest:.1f} s"
    if cue.modality is Modality.SPEECH and not _is_spoken(cue, episode):
        return f"({window}) is speech where the transcript has none"
    return None


def _is_spoken(cue: Cue, episode: Episode) -> bool:
    return any(
        line.start - _TOLERANCE_S < cue.end and cue.start < line.end + _TOLERANCE_S
        for line in episode.transcript
    )


def outcome_shown(item: AuditItem, settings: AuditSettings) -> str | None:
    """Say that footage after an item's decision time shows what it asks for.

    A cue of a response or action ends later, or what is said later holds the words of the correct
    answer, more than of any wrong option and more than what was said before.
    """
    moment = item.decision_time
    if moment is None:
        return None
    if item.capability != Capability.TIMING:
        for number, cue in enumerate(item.cues, 1):
            if cue.modality in _TIMED and cue.end > moment + _TOLERANCE_S:
                return f"cue {number} ends at {cue.end:.2f} s, after the decision at {moment:.2f} s"
    return _said_later(item, moment, settings) if item.episode else None


def _said_later(item: AuditItem, moment: float, settings: AuditSettings) -> str | None:
    lines = item.episode.transcript if item.episode else ()
    parts = [_parted(line, moment) for line in lines]
    earlier = _said([before for before, _ in parts if before])
    later = _said([after for _, after in parts if after])
    wrong = [_held(o.text, later) for o in item.options if o.id not in item.right]
    for text in item.right_texts:
        held = _held(text, later)
        most = max((_held(text, earlier), *wrong))
        if len(content_words(text)) >= _FEWEST_WORDS and held >= settings.outcome and held > most:
            return f"{held:.0%} of the answer's words are said after the decision at {moment:.2f} s"
    return None


def _parted(line: Utterance, moment: float) -> tuple[str, str]:
    """Return what a line says before and after a moment; without word times it is even speech."""
    said = [word.text for word in line.words] or line.text.split()
    share = (moment - line.start) / (line.end - line.start) if line.end > line.start else 0.0
    at = round(min(max(share, 0.0), 1.0) * len(said))
    if line.words:
        at = sum(word.start < moment for word in line.words)
    return " ".join(said[:at]), " ".join(said[at:])


def _said(lines: Sequence[str]) -> list[frozenset[str]]:
    """Return the content words of each line with the next one's."""
    own = [content_words(line) for line in lines]
    return [one | other for one, other in zip(own, [*own[1:], frozenset()], strict=False)]


def _held(text: str, said: Sequence[frozenset[str]]) -> float:
    own = content_words(text)
    return max((len(own & words) / len(own) for words in said), default=0.0) if own else 0.0


def cue_position(items: Sequence[AuditItem], settings: AuditSettings) -> AuditResult:
    """Return how often an item's first cue starts in the first tenth of its episode."""
    early = {item.id: at for item in items if (at := _first_cue(item)) is not None}
    asked = [item for item in items if item.id in early]

    def of_group(group: Sequence[AuditItem]) -> Share:
        return share(sum(early[item.id] < _EARLY for item in group), len(group), _EARLY)

    found = of_group(asked)
    flagged = len(asked) >= settings.fewest and (found.low or 0) > settings.early_share
    detail = f"its first cue starts in the first {_EARLY:.0%} of the episode"
    bad = [item.id for item in asked if flagged and early[item.id] < _EARLY]
    return AuditResult(
        **facts(found),
        audit="cue_position",
        title="First cue at the start of the episode",
        kind="set",
        by_capability=by_capability(asked, of_group),
        findings=tuple(Finding(item_id=name, detail=detail) for name in bad),
        is_flagged=flagged,
        why="" if asked else "no item has a cue in an episode",
    )


def _first_cue(item: AuditItem) -> float | None:
    starts = [cue.start for cue in item.cues if cue.modality in _TIMED]
    if not starts or item.episode is None or item.episode.duration <= 0:
        return None
    return min(starts) / item.episode.duration


def _is_decided(item: AuditItem) -> bool:
    return item.capability in _DECIDED and item.decision_time is not None


CUE_AUDITS = (
    each(
        "cue_validity",
        "Cues inside the episode, of a sensible width, over speech where they are of speech",
        cue_validity,
        lambda item: item.episode is not None,
        "no item has an episode",
    ),
    each(
        "outcome_shown",
        "Outcome shown after the decision time (T, S, A)",
        outcome_shown,
        _is_decided,
        "no T, S or A item has a decision time",
    ),
    Audit("cue_position", "First cue at the start of the episode", "set", cue_position),
)

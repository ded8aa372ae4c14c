"""Screening as one pass: prepare, measure, compare, apply the plan's rules, and prepare again.

The first preparation measures what is new; the second lets the verdicts take effect. A clip that is
screened out has no episodes in its newest preparation; runs that used an earlier one keep theirs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from construction.plan import Plan
from construction.prepare import measure_here, prepare_workspace
from construction.screening.duplicates import (
    LEAST_OVERLAP,
    MOST_BITS,
    Match,
    groups,
    matches,
    superseded,
)
from construction.screening.measuring import Language, fingerprints, language, measures_of
from construction.screening.rules import (
    SAME_AS,
    Measures,
    Reason,
    ScreeningRules,
    reason_of_terms,
    reasons_against,
)
from construction.screening.stills import make_stills
from construction.screening.verdicts import (
    Standing,
    Words,
    is_kept_by_a_person,
    rated_in,
    read_standings,
    standing,
    word,
    word_of_model,
    word_of_rules,
)
from construction.workspace import Workspace
from psychemme.canonical import canonical_json
from psychemme.config import Settings
from psychemme.errors import UserError, WorkspaceError
from psychemme.media.blobs import BlobStore
from psychemme.media.clip_files import clip_file
from psychemme.media.fingerprint import Fingerprint
from psychemme.media.prepare import PreparedClip
from psychemme.media.settings import MediaSettings, resolve_asr
from psychemme.release.texts import is_blank
from psychemme.vocabulary import ScreeningMaker, ScreeningVerdict
from state.address import Address
from state.clips import ClipStore
from state.leakage import LeakageStore
from state.leases import hold
from state.screening import ScreeningStore
from state.values import ClipRecord

GATE = "screening"
"""The name under which runs of screening and their rules are kept."""
Show = Callable[[int, int, str], None]


@dataclass
class Screened:
    """What a `screen` found: where each clip stands, by id, and which clips show the same.

    `prepared` are all clips by SHA-256.
    """

    standings: dict[str, Standing] = field(default_factory=dict)
    groups: tuple[tuple[str, ...], ...] = ()
    notes: list[str] = field(default_factory=list)
    prepared: dict[str, PreparedClip] = field(default_factory=dict)


@dataclass(frozen=True)
class _Measured:
    clip: ClipRecord
    prepared: PreparedClip
    seen: Fingerprint | None
    measures: Measures


def screen_workspace(
    workspace: Workspace,
    settings: Settings,
    plan: Plan,
    show: Show = lambda *_: None,
) -> Screened:
    """Screen every clip that can be prepared, and let the verdicts take effect.

    Safe to repeat: what was measured is kept, a verdict that stands is not stored again. Raises
    what `prepare_workspace` raises.
    """
    media, blobs = MediaSettings(asr=settings.asr), BlobStore(workspace.blobs, settings.media)
    prepared: dict[str, PreparedClip] = {}

    def measuring(clips: Sequence[ClipRecord]) -> Iterator[tuple[str, PreparedClip]]:
        jobs = [(clip.path, clip.sha256) for clip in clips]
        for sha256, one in measure_here(jobs, media, blobs, settings.workers):
            prepared[sha256] = one
            yield sha256, one

    summary = prepare_workspace(workspace, settings, plan, show, measuring)
    with hold(workspace.database, "screen") as lease:
        with ClipStore(workspace.database) as clips:
            usable = [c for c in clips.clips() if _is_usable(prepared.get(c.sha256))]
        measured, notes = _measure(usable, prepared, settings, plan.screening, blobs, show)
        with LeakageStore(workspace.database, lease) as runs:
            runs.begin(GATE, {"rules": canonical_json(plan.screening.model_dump(mode="json"))})
        with ScreeningStore(workspace.database, lease) as store:
            found = _record(store, measured, plan.screening)
    standings = take_effect(workspace, settings, plan, prepared)
    return Screened(standings, groups(found), [*summary.notes, *notes], prepared)


def take_effect(
    workspace: Workspace, settings: Settings, plan: Plan, prepared: Mapping[str, PreparedClip]
) -> dict[str, Standing]:
    """Prepare anew with what is `prepared`, by SHA-256, and whatever was added since.

    Verdicts take effect with that. Return where clips stand.
    """
    media, blobs = MediaSettings(asr=settings.asr), BlobStore(workspace.blobs, settings.media)

    def measured(clips: Sequence[ClipRecord]) -> Iterator[tuple[str, PreparedClip]]:
        yield from ((c.sha256, prepared[c.sha256]) for c in clips if c.sha256 in prepared)
        new = [(c.path, c.sha256) for c in clips if c.sha256 not in prepared]
        yield from measure_here(new, media, blobs, settings.workers)

    prepare_workspace(workspace, settings, plan, measure=measured)
    return read_standings(workspace.database)


def decide(
    database: Address, clip_id: str, verdict: ScreeningVerdict, by: str, why: str
) -> Standing:
    """Keep a person's decision on the clip whose id starts with `clip_id`; return where it stands.

    It takes effect when the workspace is next prepared or screened. Raises WorkspaceError where no
    clip or several are meant, UserError where name or reason are blank.
    """
    if is_blank(by) or is_blank(why):
        raise UserError("A decision needs a name and a reason.", "Give both --by and --reason.")
    with ClipStore(database) as clips:
        meant = [clip.id for clip in clips.clips() if clip.id.startswith(clip_id)]
    if len(meant) != 1 or not clip_id:
        raise WorkspaceError(
            f"{len(meant)} clips have an id that starts with {clip_id!r}.",
            "`psychemme clips list` prints the ids.",
        )
    reason = Reason(rule="person", measure=why, threshold="a person's judgement")
    said = word(ScreeningMaker.PERSON, by, verdict, [reason])
    with ScreeningStore(database) as store:
        store.record(meant[0], said)
        return standing(store.standing()[meant[0]])


def _is_usable(prepared: PreparedClip | None) -> bool:
    return prepared is not None and not prepared.is_refused


def _measure(
    clips: Sequence[ClipRecord],
    prepared: Mapping[str, PreparedClip],
    settings: Settings,
    rules: ScreeningRules,
    blobs: BlobStore,
    show: Show,
) -> tuple[list[_Measured], list[str]]:
    files = {c.sha256: clip_file(c.path, c.sha256, blobs.root) for c in clips}
    names = {c.sha256: Path(c.path).name for c in clips}
    jobs = [(files[c.sha256], prepared[c.sha256]) for c in clips]
    seen: dict[str, Fingerprint | None] = {}
    for sha256, found in fingerprints(jobs, blobs, settings.workers):
        seen[sha256] = found
        show(len(seen), len(jobs), names[sha256])
    make_stills(jobs, blobs, settings.workers)
    heard, notes = _languages(jobs, settings, rules, blobs)
    notes += [f"{names[s]}: its pictures could not be compared." for s in files if not seen.get(s)]
    measured = []
    for clip in clips:
        one = prepared[clip.sha256]
        measures = measures_of(one, seen.get(clip.sha256), heard.get(clip.sha256, Language()))
        measured.append(_Measured(clip, one, seen.get(clip.sha256), measures))
    return measured, notes


def _languages(
    jobs: Sequence[tuple[Path, PreparedClip]],
    settings: Settings,
    rules: ScreeningRules,
    blobs: BlobStore,
) -> tuple[dict[str, Language], list[str]]:
    """Return the language of each clip where the rules ask for it and a recogniser is at hand."""
    if not rules.languages:
        return {}, []
    model = resolve_asr(MediaSettings(asr=settings.asr), blobs.root / "models")
    if model is None:
        return {}, ["No language was told: it takes a speech model, and none is set."]
    return {clip.sha256: language(path, clip, model, blobs) for path, clip in jobs}, []


def _record(
    store: ScreeningStore, measured: Sequence[_Measured], rules: ScreeningRules
) -> tuple[Match, ...]:
    """Store what the rules say of each clip; return the pairs that show the same."""
    words, used = store.standing(), store.used_clips()
    reasons = {one.clip.id: _reasons(one, rules) for one in measured}
    ordered = sorted(measured, key=lambda one: _rank(one, reasons, words, used))
    found: tuple[Match, ...] = ()
    if rules.duplicates:
        found = matches({one.clip.id: one.seen for one in ordered if one.seen})
        order = [one.clip.id for one in ordered if one.seen]
        for name, match in superseded(found, order).items():
            reasons[name] += (_duplicate(name, match),)
    for one in measured:
        store.record(one.clip.id, word_of_rules(reasons[one.clip.id], one.measures))
    _rate_again(store, words, rules)
    return found


def _rate_again(store: ScreeningStore, words: Mapping[str, Words], rules: ScreeningRules) -> None:
    """Hold the minimum of today against what models said before, without asking."""
    for clip_id, said in words.items():
        held = said.get(ScreeningMaker.MODEL)
        if held is not None and (rated := rated_in(held)) is not None:
            store.record(clip_id, word_of_model(rated, rules.rubric_minimum))


def _reasons(one: _Measured, rules: ScreeningRules) -> tuple[Reason, ...]:
    terms = reason_of_terms(one.clip.licence, one.clip.consent, rules)
    return (*terms, *reasons_against(one.measures, rules))


def _rank(
    one: _Measured,
    reasons: Mapping[str, tuple[Reason, ...]],
    words: Mapping[str, Words],
    used: frozenset[str],
) -> tuple[bool, bool, bool, bool, float, int, int, str]:
    """Return who goes first among copies.

    What people keep goes first and what they refuse last; then what the rules refuse goes last, and
    what runs used goes before the longest, the largest picture and what was added first.
    """
    clip, said = one.clip, words.get(one.clip.id, {})
    person = said.get(ScreeningMaker.PERSON)
    is_unwanted = person is not None and person.verdict is ScreeningVerdict.REFUSE
    is_wanted = is_kept_by_a_person(said)
    pixels = one.prepared.probe.width * one.prepared.probe.height if one.prepared.probe else 0
    return (
        is_unwanted,
        not is_wanted,
        bool(reasons[clip.id]),
        clip.id not in used,
        -one.measures.seconds,
        -pixels,
        clip.added_at,
        clip.id,
    )


def _duplicate(name: str, match: Match) -> Reason:
    other = match.second if match.first == name else match.first
    return Reason(
        rule="duplicates",
        measure=str(match),
        threshold=f"{MOST_BITS} of 63 bits over {LEAST_OVERLAP:.0%}",
        detail=f"{SAME_AS}{other}",
    )

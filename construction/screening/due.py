"""Which calls about clips are due: one for each that rules and people leave in.

What is asked follows from the clip, the model's card and the prompt alone.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from construction.footage import frame_parts
from construction.leakage.estimate import total
from construction.screening.rubric import Rated, Ratings
from construction.screening.stills import stills
from construction.screening.verdicts import Words, rated_in
from construction.workspace import Workspace
from prompts.load import render
from psychemme.canonical import digest
from psychemme.clients.cards import Cards, EndpointKind, load_cards
from psychemme.clients.fitting import Fitter
from psychemme.clients.protocol import Parameters, Request
from psychemme.config import Settings
from psychemme.episode import Episode
from psychemme.errors import ConfigError
from psychemme.media.blobs import BlobStore
from psychemme.media.prepare import PreparedClip
from psychemme.vocabulary import GateRole, ScreeningMaker, ScreeningVerdict
from state.address import Address
from state.clips import ClipStore
from state.screening import ScreeningStore
from state.values import ClipRecord, LedgerCall

_SEED_DIGITS = 8
_NAME_ONE = "Name a model that takes pictures; `psychemme models list` shows cards."


@dataclass(frozen=True)
class Due:
    """A call that is due: what to ask of which clip, as which attempt (from 0)."""

    clip_id: str
    request: Request
    request_key: str
    attempt: int


@dataclass(frozen=True)
class Calls:
    """The calls that are `due`, and by clip the reply that is `held` and makes one needless."""

    due: tuple[Due, ...]
    held: Mapping[str, Rated]


def refuse_model(model: str, cards: Cards) -> None:
    """Raise ConfigError where `model` cannot look at pictures."""
    card = cards.card_for(model)
    if card.endpoint is EndpointKind.SIGNAL:
        raise ConfigError(f"{model!r} is no model that could rate a clip.", _NAME_ONE)
    if card.images.most == 0:
        raise ConfigError(f"{model!r} sees no pictures, says its card.", _NAME_ONE)


def calls_about(
    workspace: Workspace,
    settings: Settings,
    model: str,
    store: ScreeningStore,
    prepared: Mapping[str, PreparedClip],
) -> Calls:
    """Return what to ask `model`; `prepared` holds the clips by SHA-256."""
    words = store.standing()
    earlier: dict[tuple[str, str], list[Rated]] = defaultdict(list)
    for clip_id, rated in replies(store):
        earlier[clip_id, rated.request_key].append(rated)
    blobs = BlobStore(workspace.blobs, settings.media)
    fitter = Fitter(load_cards(workspace.root).card_for(model).images, blobs)
    due: list[Due] = []
    held: dict[str, Rated] = {}
    with ClipStore(workspace.database) as clips:
        every = clips.clips()
    for clip in every:
        one = prepared.get(clip.sha256)
        if one is None or one.probe is None or one.is_refused:
            continue
        if not _is_open(words.get(clip.id, {})):
            continue
        request = _request(clip, one, one.probe.duration, settings, fitter, blobs)
        if not request.media:
            continue
        key = request.key(model)
        tried = earlier[clip.id, key]
        read = next((rated for rated in tried if rated.ratings is not None), None)
        if read is not None:
            held[clip.id] = read
        else:
            due.append(Due(clip.id, replace(request, draw=len(tried)), key, len(tried)))
    return Calls(tuple(due), held)


def replies(store: ScreeningStore) -> list[tuple[str, Rated]]:
    """Return every reply of a model about a clip, each once, with the clip's id."""
    kept: dict[tuple[str, str, int], Rated] = {}
    for clip_id, said in store.said_by(ScreeningMaker.MODEL):
        if (rated := rated_in(said)) is not None:
            kept[clip_id, rated.request_key, rated.attempt] = rated
    return [(clip_id, rated) for (clip_id, _, _), rated in kept.items()]


def ratings_ledger(database: Address) -> list[LedgerCall]:
    """Return the calls about clips, as the ledger's are; their key is the clip's id."""
    with ScreeningStore(database) as store:
        found = replies(store)
    shared = set(LedgerCall.model_fields) & set(Rated.model_fields)
    return [
        LedgerCall(
            candidate_key=name, round=0, role=GateRole.SCREENING, **rated.model_dump(include=shared)
        )
        for name, rated in found
    ]


def spent_on(store: ScreeningStore) -> float | None:
    """Return the US dollars that all ratings took, None where a price was unknown."""
    return total(rated.cost for _, rated in replies(store))


def _is_open(words: Words) -> bool:
    """Return whether rules keep the clip and nobody refuses it: what people refuse is not sent."""
    verdicts = {maker: said.verdict for maker, said in words.items()}
    is_kept = verdicts.get(ScreeningMaker.RULES) is ScreeningVerdict.KEEP
    return is_kept and verdicts.get(ScreeningMaker.PERSON) is not ScreeningVerdict.REFUSE


def _request(
    clip: ClipRecord,
    prepared: PreparedClip,
    length: float,
    settings: Settings,
    fitter: Fitter,
    blobs: BlobStore,
) -> Request:
    seen = frame_parts(stills(clip.sha256, length, blobs), blobs.path)
    episode = Episode(
        duration=length, public_context=clip.context, transcript=prepared.transcript
    )  # fmt: skip
    inputs = {"episode": episode}
    prompt = render(GateRole.SCREENING, inputs)
    seed = int(digest([clip.id, prompt.hash])[:_SEED_DIGITS], 16) >> 1
    return Request(
        role=GateRole.SCREENING,
        prompt_id=prompt.prompt_id,
        prompt_hash=prompt.hash,
        system=prompt.system,
        user=prompt.user,
        inputs=inputs,
        reply_schema=Ratings,
        media=fitter.fit(seen),
        parameters=Parameters(settings.temperature, settings.max_output_tokens, seed),
    )

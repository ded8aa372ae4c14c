"""Have a judge label a run's responses: resumable, and bounded.

A judge that fails leaves an item unjudged, which is no label.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from evaluation.baselines import BASELINES
from evaluation.endpoints import count_spent, open_budget, open_client
from evaluation.exports import read_responses
from evaluation.judge import (
    PROMPT,
    Case,
    Judgement,
    judge_request,
    needs_judge,
    read_judgement,
    reference_digest,
)
from evaluation.judged import is_named, standing
from evaluation.manifest import RunManifest, held, read_manifest, release_of
from evaluation.store import UNKNOWN_REFERENCE, CallRow, RunStore, call_row
from evaluation.work import Progress, work_through
from prompts.load import prompt_hash
from psychemme.canonical import canonical_json
from psychemme.clients.cards import Cards
from psychemme.clients.protocol import Client
from psychemme.clients.replies import InvalidReply
from psychemme.clients.retries import Unanswered
from psychemme.config import Effective
from psychemme.errors import ConfigError, ReplyError, RunError
from psychemme.media.blobs import write_whole
from psychemme.release.read import Release
from psychemme.vocabulary import EvaluationRole

JUDGEMENTS = "judgements.jsonl"
MOST_REPAIRS = 2
MOST_UNANSWERED = 20
"""Items in a row that an endpoint may leave unanswered before judging stops."""
_TRIES = MOST_REPAIRS + 1


@dataclass
class Judging:
    """One judge at work on one run. `report` is called whenever an item is settled.

    `reach` opens its client, once there is something to ask.
    """

    folder: Path
    manifest: RunManifest
    release: Release
    store: RunStore
    reach: Callable[[], Awaitable[Client]]
    judge: str
    repeats: int
    concurrency: int
    stop: asyncio.Event
    report: Callable[[Progress], None] = lambda _: None
    _failures: Counter[str] = field(default_factory=Counter)
    _planned: int = 0
    _settled: int = 0
    _unanswered: int = 0
    _tokens: int = 0
    _cost: float | None = 0.0

    async def finish(self) -> Progress:
        """Judge what is not judged yet, write `judgements.jsonl`, and return where it ended.

        Raises Stopped where `stop` was set or the budget ran out, EndpointError where the judge
        answers nothing.
        """
        responses = read_responses(self.manifest, self.release, self.store)
        references = self.release.references()
        cases = [
            Case(self.release.questions[name], references[name], response, repeat)
            for repeat in range(self.repeats)
            for name, response in responses.items()
            if needs_judge(response, self.release.questions[name])
        ]
        try:
            return await self.settle(cases)
        finally:
            export_judgements(self.folder, self.manifest, self.release, self.store)

    async def settle(self, cases: Sequence[Case]) -> Progress:
        """Have the judge label `cases`, those it has not labelled yet; raises as `finish`."""
        done = {
            (name, repeat, "")
            for (judge, repeat), judged in self.judgements().items()
            if judge == self.judge
            for name in judged
        } | {(name, 0, change) for name, change in self.store.audits(self.judge)}
        left = [case for case in cases if case.key not in done]
        self._planned, self._settled = len(cases), len(cases) - len(left)
        self._tokens, self._cost = self.store.spent()
        calls = [("", call) for call in self.store.calls(EvaluationRole.JUDGE, self.judge)]
        self._earlier = _rounds([*calls, *self.store.audit_calls(self.judge)])
        self.report(self.progress)
        if left:
            self._client = await self.reach()
        await work_through(left, self._judge, self.concurrency, self.stop)
        return self.progress

    def judgements(self) -> dict[tuple[str, int], dict[str, str]]:
        """Return the judgement JSON that stands under the release, by item, for each rater."""
        found = self.store.judgements(standing(self.manifest, self.release))
        return {rater: {n: text for n, (text, _) in some.items()} for rater, some in found.items()}

    @property
    def progress(self) -> Progress:
        """How far the judge is."""
        return Progress(self._planned, self._settled, self._failures, self._tokens, self._cost)

    async def _judge(self, case: Case) -> None:
        try:
            judgement = await self._ask(case)
        except ReplyError as fault:
            await self._keep_error(case, fault.code)
        except Unanswered as fault:
            await self._keep_error(case, "unanswered")
            self._unanswered += 1
            if self._unanswered >= MOST_UNANSWERED:
                raise fault
        else:
            self._unanswered = 0
            name, repeat, change = case.key
            text = canonical_json(judgement.model_dump(mode="json"))
            if change:
                await self.store.keep_audit(name, self.judge, change, text)
            else:
                reference = reference_digest(case.reference)
                await self.store.keep_judgement(name, self.judge, repeat, text, reference)
            self._settled += 1
        self.report(self.progress)

    async def _keep_error(self, case: Case, code: str) -> None:
        name, repeat, change = case.key
        role = EvaluationRole.JUDGE
        row = CallRow(role=role, model=self.judge, item_id=name, repeat=repeat, error=code)
        await self.store.keep(row, change)
        self._failures[code] += 1

    async def _ask(self, case: Case) -> Judgement:
        """Return a valid judgement; raises ReplyError where it stays invalid.

        Replies of a conversation that was cut off are used again; one that ended without a
        judgement, or was about another reference, is begun anew.
        """
        first, earlier, reference = self._earlier.get(case.key, (0, (), ""))
        if earlier and not self._stands(case, reference):
            first, earlier = first + _TRIES, ()
        exchange: tuple[tuple[str, str], ...] = ()
        for attempt in range(_TRIES):
            text = (
                earlier[attempt]
                if attempt < len(earlier)
                else await self._call(case, exchange, first + attempt)
            )
            try:
                return read_judgement(text, case.question)
            except InvalidReply as fault:
                exchange = (*exchange, (text, str(fault)))
        raise ReplyError("invalid")

    def _stands(self, case: Case, reference: str) -> bool:
        if reference == UNKNOWN_REFERENCE:
            return is_named(self.manifest, self.release)
        return reference == reference_digest(case.reference)

    async def _call(self, case: Case, exchange: tuple[tuple[str, str], ...], number: int) -> str:
        name, repeat, change = case.key
        # A repeat, and a conversation begun anew, is a new call; a resume never is.
        draw = repeat * 1000 + number // _TRIES
        request = judge_request(case.question, case.reference, case.response, exchange, draw)
        reply = await self._client.complete(request)
        row = call_row(
            request,
            self.judge,
            name,
            reply=reply,
            repeat=repeat,
            attempt=number,
            sent={"reference": reference_digest(case.reference)},
        )
        await self.store.keep(row, change)
        self._tokens += row.input_tokens + row.output_tokens
        if self._cost is not None:
            self._cost = None if row.cost is None else self._cost + row.cost
        return row.text or ""


_Open = tuple[int, tuple[str, ...], str]
"""The first number of a conversation that may go on, its texts, and its reference's digest."""


def _rounds(calls: Sequence[tuple[str, CallRow]]) -> dict[tuple[str, int, str], _Open]:
    """Return the open conversation of each case, from calls with their changes."""
    numbered: dict[tuple[str, int, str], dict[int, CallRow]] = {}
    for change, call in calls:
        numbered.setdefault((call.item_id, call.repeat, change), {})[call.attempt] = call
    found = {}
    for key, by_number in numbered.items():
        last = max(by_number)
        first = (last + 1) - (last + 1) % _TRIES
        texts = tuple(by_number[n].text or "" for n in range(first, last + 1))
        sent = json.loads(by_number[last].sent_json)
        found[key] = first, texts, sent.get("reference", UNKNOWN_REFERENCE)
    return found


def export_judgements(
    folder: Path, manifest: RunManifest, release: Release, store: RunStore
) -> None:
    """Write `judgements.jsonl`: one line a judgement that stands, by judge, repeat and item.

    `reference` is the digest of the reference it was made under, null where none was kept.
    """
    who = {"model": manifest.model, "condition": manifest.condition}
    lines = [
        canonical_json(
            Judgement.model_validate_json(text).model_dump(mode="json")
            | who
            | {"item_id": name, "judge": judge, "repeat": repeat, "reference": reference or None}
        )
        for (judge, repeat), judged in sorted(store.judgements(standing(manifest, release)).items())
        for name, (text, reference) in judged.items()
    ]
    write_whole(folder / JUDGEMENTS, "".join(f"{line}\n" for line in lines).encode())


@asynccontextmanager
async def judging(
    folder: Path,
    judge: str,
    repeats: int,
    effective: Effective,
    cards: Cards,
    stop: asyncio.Event,
    release: Path | None = None,
    budget: float | None = None,
) -> AsyncIterator[Judging]:
    """Yield a judge ready to work on the run at `folder`.

    Its client is opened once there is something to ask. Raises RunError where the run was judged
    under another prompt, ReleaseError where the release is another or lacks its private part.
    """
    manifest = read_manifest(folder)
    found = release_of(manifest, release)
    found.references()
    if judge in BASELINES:
        raise ConfigError(f"The baseline {judge!r} cannot judge.", "Name a language model.")
    shared = open_budget(budget, [cards.card_for(judge)])
    with held(folder), RunStore(folder) as store:
        _refuse_other_prompt(store, folder, judge)
        count_spent(shared, store.spent()[1])
        settings = effective.settings
        async with AsyncExitStack() as stack:
            opened = open_client(judge, cards, settings, shared, stop)
            yield Judging(
                folder,
                manifest,
                found,
                store,
                partial(stack.enter_async_context, opened),
                judge,
                repeats,
                settings.concurrency,
                stop,
            )


def _refuse_other_prompt(store: RunStore, folder: Path, judge: str) -> None:
    hashes = {call.prompt_hash for call in store.calls(EvaluationRole.JUDGE, judge)}
    if hashes - {prompt_hash(PROMPT)}:
        raise RunError(
            f"{judge} judged {folder} under another prompt.",
            "Restore prompts/judge.md, or evaluate again with --fresh and judge that run.",
        )

"""Have a judge label a run's responses: resumable, and bounded.

A judge that fails leaves an item unjudged, which is no label.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from evaluation.baselines import BASELINES
from evaluation.endpoints import count_spent, open_budget, open_client
from evaluation.exports import read_responses
from evaluation.judge import PROMPT, Judgement, judge_request, needs_judge, read_judgement
from evaluation.manifest import RunManifest, held, read_manifest, release_of
from evaluation.responses import Response
from evaluation.store import CallRow, RunStore, call_row
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
from psychemme.release.rows import QuestionRow
from psychemme.vocabulary import EvaluationRole

JUDGEMENTS = "judgements.jsonl"
MOST_REPAIRS = 2
MOST_UNANSWERED = 20
"""Items in a row that an endpoint may leave unanswered before judging stops."""
_TRIES = MOST_REPAIRS + 1


@dataclass
class Judging:
    """One judge at work on one run. `report` is called whenever an item is settled."""

    folder: Path
    manifest: RunManifest
    release: Release
    store: RunStore
    client: Client
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
        wanted = [
            (response, repeat)
            for repeat in range(self.repeats)
            for name, response in responses.items()
            if needs_judge(response, self.release.questions[name])
        ]
        self._planned = len(wanted)
        done = {
            (name, repeat)
            for (judge, repeat), judged in self.store.judgements().items()
            if judge == self.judge
            for name in judged
        }
        self._settled = sum((r.item_id, repeat) in done for r, repeat in wanted)
        self._tokens, self._cost = self.store.spent()
        self._earlier = _rounds(self.store.calls(EvaluationRole.JUDGE, self.judge))
        self._references = references
        left = [(r, repeat) for r, repeat in wanted if (r.item_id, repeat) not in done]
        self.report(self.progress)
        try:
            await work_through(left, self._judge, self.concurrency, self.stop)
        finally:
            export_judgements(self.folder, self.manifest, self.store)
        return self.progress

    @property
    def progress(self) -> Progress:
        """How far the judge is."""
        return Progress(self._planned, self._settled, self._failures, self._tokens, self._cost)

    async def _judge(self, wanted: tuple[Response, int]) -> None:
        response, repeat = wanted
        try:
            judgement = await self._ask(response, repeat)
        except ReplyError as fault:
            await self._keep_error(response.item_id, repeat, fault.code)
        except Unanswered as fault:
            await self._keep_error(response.item_id, repeat, "unanswered")
            self._unanswered += 1
            if self._unanswered >= MOST_UNANSWERED:
                raise fault
        else:
            self._unanswered = 0
            text = canonical_json(judgement.model_dump(mode="json"))
            await self.store.keep_judgement(response.item_id, self.judge, repeat, text)
            self._settled += 1
        self.report(self.progress)

    async def _keep_error(self, item_id: str, repeat: int, code: str) -> None:
        role = EvaluationRole.JUDGE
        row = CallRow(role=role, model=self.judge, item_id=item_id, repeat=repeat, error=code)
        await self.store.keep(row)
        self._failures[code] += 1

    async def _ask(self, response: Response, repeat: int) -> Judgement:
        """Return a valid judgement; raises ReplyError where it stays invalid.

        Replies of a conversation that was cut off are used again; one that ended without a
        judgement is begun anew.
        """
        question = self.release.questions[response.item_id]
        first, earlier = self._earlier.get((response.item_id, repeat), (0, ()))
        exchange: tuple[tuple[str, str], ...] = ()
        for attempt in range(_TRIES):
            number = first + attempt
            text = (
                earlier[attempt]
                if attempt < len(earlier)
                else await self._call(question, response, exchange, repeat, number)
            )
            try:
                return read_judgement(text, question)
            except InvalidReply as fault:
                exchange = (*exchange, (text, str(fault)))
        raise ReplyError("invalid")

    async def _call(
        self,
        question: QuestionRow,
        response: Response,
        exchange: tuple[tuple[str, str], ...],
        repeat: int,
        number: int,
    ) -> str:
        reference = self._references[question.id]
        # A repeat, and a conversation begun anew, is a new call; a resume never is.
        draw = repeat * 1000 + number // _TRIES
        request = judge_request(question, reference, response, exchange, draw)
        reply = await self.client.complete(request)
        row = call_row(request, self.judge, question.id, reply=reply, repeat=repeat, attempt=number)
        await self.store.keep(row)
        self._tokens += row.input_tokens + row.output_tokens
        if self._cost is not None:
            self._cost = None if row.cost is None else self._cost + row.cost
        return row.text or ""


def _rounds(calls: Sequence[CallRow]) -> dict[tuple[str, int], tuple[int, tuple[str, ...]]]:
    """Return for each item and repeat the first number of its open conversation, and its texts."""
    texts: dict[tuple[str, int], dict[int, str]] = {}
    for call in calls:
        texts.setdefault((call.item_id, call.repeat), {})[call.attempt] = call.text or ""
    found = {}
    for key, by_number in texts.items():
        count = max(by_number) + 1
        first = count - count % _TRIES
        found[key] = first, tuple(by_number[n] for n in range(first, count))
    return found


def export_judgements(folder: Path, manifest: RunManifest, store: RunStore) -> None:
    """Write `judgements.jsonl`: one line a judgement, sorted by judge, repeat and item."""
    who = {"model": manifest.model, "condition": manifest.condition}
    lines = [
        canonical_json(
            Judgement.model_validate_json(text).model_dump(mode="json")
            | who
            | {"item_id": name, "judge": judge, "repeat": repeat}
        )
        for (judge, repeat), judged in sorted(store.judgements().items())
        for name, text in judged.items()
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

    Raises RunError where the run was judged under another prompt, ReleaseError where the release
    is another or lacks its private part.
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
        async with open_client(judge, cards, settings, shared, stop) as client:
            yield Judging(
                folder, manifest, found, store, client, judge, repeats, settings.concurrency, stop
            )


def _refuse_other_prompt(store: RunStore, folder: Path, judge: str) -> None:
    hashes = {call.prompt_hash for call in store.calls(EvaluationRole.JUDGE, judge)}
    if hashes - {prompt_hash(PROMPT)}:
        raise RunError(
            f"{judge} judged {folder} under another prompt.",
            "Restore prompts/judge.md, or evaluate again with --fresh and judge that run.",
        )

"""Have a model label cases of a run: resumable, bounded, and never paying twice.

What a label is, how it is asked for and where it is kept is a subclass's: the judge's, the
classifier's. A model that fails leaves a case without a label, which is no label.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from evaluation.baselines import BASELINES
from evaluation.endpoints import count_spent, open_budget, open_client
from evaluation.judge import Case, reference_digest
from evaluation.judged import is_named
from evaluation.manifest import RunManifest, held, read_manifest, release_of
from evaluation.store import UNKNOWN_REFERENCE, CallRow, RunStore, call_row
from evaluation.work import Progress, work_through
from prompts.load import prompt_hash
from psychemme.clients.cards import Cards
from psychemme.clients.protocol import Client, Request
from psychemme.clients.replies import InvalidReply
from psychemme.clients.retries import Unanswered
from psychemme.config import Effective
from psychemme.errors import ConfigError, ReplyError, RunError
from psychemme.release.read import Release
from psychemme.vocabulary import EvaluationRole

MOST_REPAIRS = 2
MOST_UNANSWERED = 20
"""Cases in a row that an endpoint may leave unanswered before labelling stops."""
_TRIES = MOST_REPAIRS + 1

Key = tuple[str, int, str]
"""What `Case.key` tells: item, repeat and change."""

Label = TypeVar("Label")


@dataclass
class Labelling(ABC, Generic[Label]):
    """One model at work on one run. `report` is called whenever a case is settled.

    `reach` opens its client, once there is something to ask.
    """

    role: ClassVar[EvaluationRole]

    folder: Path
    manifest: RunManifest
    release: Release
    store: RunStore
    reach: Callable[[], Awaitable[Client]]
    model: str
    concurrency: int
    stop: asyncio.Event
    report: Callable[[Progress], None] = lambda _: None
    _failures: Counter[str] = field(default_factory=Counter)
    _planned: int = 0
    _settled: int = 0
    _unanswered: int = 0
    _tokens: int = 0
    _cost: float | None = 0.0

    @abstractmethod
    async def finish(self) -> Progress:
        """Label what is not labelled yet, write it to a file, and return where it ended.

        Raises Stopped where `stop` was set or the budget ran out, EndpointError where the model
        answers nothing.
        """

    @abstractmethod
    def done(self) -> Collection[Key]:
        """Return the cases that are labelled."""

    @abstractmethod
    def calls(self) -> Sequence[tuple[str, CallRow]]:
        """Return the answered calls, in order, each with its change."""

    @abstractmethod
    def request(self, case: Case, exchange: Sequence[tuple[str, str]], draw: int) -> Request:
        """Return the request that asks for the label of `case`."""

    @abstractmethod
    def read(self, text: str, case: Case) -> Label:
        """Return the label in a reply; raises InvalidReply naming what is wrong with it."""

    @abstractmethod
    async def keep(self, case: Case, label: Label) -> None:
        """Commit the label of a case."""

    def left(self, cases: Sequence[Case]) -> list[Case]:
        """Return those of `cases` that are not labelled."""
        done = set(self.done())
        return [case for case in cases if case.key not in done]

    async def settle(self, cases: Sequence[Case]) -> Progress:
        """Have the model label `cases`, those it has not labelled yet; raises as `finish`."""
        left = self.left(cases)
        self._planned, self._settled = len(cases), len(cases) - len(left)
        self._tokens, self._cost = self.store.spent()
        self._earlier = _rounds(self.calls())
        self.report(self.progress)
        if left:
            self._client = await self.reach()
        await work_through(left, self._label, self.concurrency, self.stop)
        return self.progress

    @property
    def progress(self) -> Progress:
        """How far the model is."""
        return Progress(self._planned, self._settled, self._failures, self._tokens, self._cost)

    async def _label(self, case: Case) -> None:
        try:
            label = await self._ask(case)
        except ReplyError as fault:
            await self._keep_error(case, fault.code)
        except Unanswered as fault:
            await self._keep_error(case, "unanswered")
            self._unanswered += 1
            if self._unanswered >= MOST_UNANSWERED:
                raise fault
        else:
            self._unanswered = 0
            await self.keep(case, label)
            self._settled += 1
        self.report(self.progress)

    async def _keep_error(self, case: Case, code: str) -> None:
        name, repeat, change = case.key
        row = CallRow(role=self.role, model=self.model, item_id=name, repeat=repeat, error=code)
        await self.store.keep(row, change)
        self._failures[code] += 1

    async def _ask(self, case: Case) -> Label:
        """Return a valid label; raises ReplyError where it stays invalid.

        Replies of a conversation that was cut off are used again; one that ended without a
        label, or was about another reference, is begun anew.
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
                return self.read(text, case)
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
        request = self.request(case, exchange, draw)
        reply = await self._client.complete(request)
        row = call_row(
            request,
            self.model,
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


Job = TypeVar("Job", bound="Labelling[Any]")


@asynccontextmanager
async def labelling(
    make: Callable[..., Job],
    prompt: str,
    folder: Path,
    model: str,
    effective: Effective,
    cards: Cards,
    stop: asyncio.Event,
    release: Path | None = None,
    budget: float | None = None,
) -> AsyncIterator[Job]:
    """Yield what `make` makes of a Labelling's fields, ready to work on the run at `folder`.

    Its client is opened once there is something to ask. Raises RunError where the run was labelled
    by another `prompt`, ReleaseError where the release is another or lacks its private part.
    """
    manifest = read_manifest(folder)
    found = release_of(manifest, release)
    found.references()
    if model in BASELINES:
        raise ConfigError(f"The baseline {model!r} cannot label.", "Name a language model.")
    settings = effective.settings
    shared = open_budget(budget, [model], settings, cards)
    with held(folder), RunStore(folder) as store:
        async with AsyncExitStack() as stack:
            opened = open_client(model, cards, settings, shared, stop)
            reach = partial(stack.enter_async_context, opened)
            job = make(folder, manifest, found, store, reach, model, settings.concurrency, stop)
            _refuse_other_prompt(job, prompt)
            count_spent(shared, store.spent()[1])
            yield job


def _refuse_other_prompt(job: Labelling[Any], prompt: str) -> None:
    if {call.prompt_hash for _, call in job.calls()} - {prompt_hash(prompt)}:
        raise RunError(
            f"{job.model} labelled {job.folder} under another prompt.",
            f"Restore prompts/{prompt}.md, or evaluate again with --fresh and label that run.",
        )

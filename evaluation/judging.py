"""Have a judge label a run's responses."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

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
from evaluation.judged import standing
from evaluation.labelling import Key, Labelling, labelling
from evaluation.manifest import RunManifest
from evaluation.store import CallRow, RunStore
from evaluation.work import Progress
from psychemme.canonical import canonical_json
from psychemme.clients.cards import Cards
from psychemme.clients.protocol import Request
from psychemme.config import Effective
from psychemme.media.blobs import write_whole
from psychemme.release.read import Release
from psychemme.vocabulary import EvaluationRole

JUDGEMENTS = "judgements.jsonl"


@dataclass
class Judging(Labelling[Judgement]):
    """One judge at work on one run."""

    role: ClassVar[EvaluationRole] = EvaluationRole.JUDGE

    repeats: int = 1

    async def finish(self) -> Progress:
        """Judge what is not judged yet, and write `judgements.jsonl`; raises as a Labelling."""
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

    def judgements(self) -> dict[tuple[str, int], dict[str, str]]:
        """Return the judgement JSON that stands under the release, by item, for each rater."""
        found = self.store.judgements(standing(self.manifest, self.release))
        return {rater: {n: text for n, (text, _) in some.items()} for rater, some in found.items()}

    def done(self) -> Collection[Key]:
        """Return the cases that are judged, those of an audit among them."""
        return {
            (name, repeat, "")
            for (judge, repeat), judged in self.judgements().items()
            if judge == self.model
            for name in judged
        } | {(name, 0, change) for name, change in self.store.audits(self.model)}

    def calls(self) -> Sequence[tuple[str, CallRow]]:
        """Return the answered calls, those of an audit with their change."""
        calls = [("", call) for call in self.store.calls(EvaluationRole.JUDGE, self.model)]
        return [*calls, *self.store.audit_calls(self.model)]

    def request(self, case: Case, exchange: Sequence[tuple[str, str]], draw: int) -> Request:
        """Return the request that puts the response to the judge."""
        return judge_request(case.question, case.reference, case.response, exchange, draw)

    def read(self, text: str, case: Case) -> Judgement:
        """Return the judgement in a reply; raises InvalidReply."""
        return read_judgement(text, case.question)

    async def keep(self, case: Case, label: Judgement) -> None:
        """Commit a judgement; one of an audit is kept apart and scores nothing."""
        name, repeat, change = case.key
        text = canonical_json(label.model_dump(mode="json"))
        if change:
            await self.store.keep_audit(name, self.model, change, text)
        else:
            reference = reference_digest(case.reference)
            await self.store.keep_judgement(name, self.model, repeat, text, reference)


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
    """Yield a judge ready to work on the run at `folder`; raises as `labelling`."""
    make = partial(Judging, repeats=repeats)
    terms = (effective, cards, stop, release, budget)
    async with labelling(make, PROMPT, folder, judge, *terms) as job:
        yield job

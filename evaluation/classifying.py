"""Have a model sort a run's failures by kind (`evaluation.error_categories`), asking once for each.

The classifier sees what the judge sees: question, options, reference, cues, answer and rationales,
never the recording. Its categories change no score.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, create_model

from evaluation.error_categories import ErrorLabel, Scheme, scheme
from evaluation.exports import read_responses
from evaluation.judge import Case, reference_digest
from evaluation.judged import chosen, read_judgements
from evaluation.labelling import Key, Labelling, labelling
from evaluation.manifest import RunManifest
from evaluation.score import score_responses
from evaluation.store import CallRow, RunStore
from evaluation.work import Progress
from prompts.load import render
from psychemme.canonical import canonical_json
from psychemme.clients.budget import Price
from psychemme.clients.cards import Cards
from psychemme.clients.protocol import Parameters, Request
from psychemme.clients.replies import parse_reply
from psychemme.clients.size import input_tokens
from psychemme.config import Effective
from psychemme.episode import Value
from psychemme.errors import RunError
from psychemme.items import Reference
from psychemme.media.blobs import write_whole
from psychemme.release.read import Release
from psychemme.vocabulary import EvaluationRole

PROMPT = "errors"
ERRORS = "errors.jsonl"
_PARAMETERS = Parameters(temperature=0.0, max_output_tokens=512)


class ErrorCategory(Value):
    """The classifier's reply."""

    reason: str = Field(min_length=1)
    category: str


@cache
def reply_schema(scheme: Scheme) -> type[ErrorCategory]:
    """Return the schema of a reply that names one of a scheme's categories."""
    ids: Any = Literal[scheme.ids]
    return create_model("ErrorCategory", __base__=ErrorCategory, category=(ids, ...))


def failures(
    manifest: RunManifest, release: Release, store: RunStore, judge: str | None, repeat: int = 0
) -> list[Case]:
    """Return the parsed responses of a run with less than full answer credit, by item id.

    Raises RunError where an open answer has no credit yet, ConfigError where `judge` is unclear.
    """
    responses = read_responses(manifest, release, store)
    judgements = chosen(read_judgements(manifest, release, store), judge, repeat)
    credit = {s.item_id: s.a for s in score_responses(release, responses, judgements).items}
    parsed = [name for name, response in responses.items() if response.answer is not None]
    if waiting := [name for name in parsed if credit[name] is None]:
        raise RunError(
            f"{len(waiting)} open answers of {manifest.model} have no credit, such as that to "
            f"{waiting[0]}, so that it is unknown whether they failed.",
            "Run `psychemme judge` first.",
        )
    references = release.references()
    return [
        Case(release.questions[name], references[name], responses[name])
        for name in parsed
        if (credit[name] or 0.0) < 1
    ]


@dataclass(frozen=True)
class Estimate:
    """What sorting would take: calls without repairs, tokens sent, and US dollars at most."""

    failures: int
    calls: int
    input_tokens: int
    cost: float | None


@dataclass
class Classifying(Labelling[ErrorCategory]):
    """One classifier at work on one run; open answers have the credit of `judge` and `repeat`."""

    role: ClassVar[EvaluationRole] = EvaluationRole.CLASSIFIER

    scheme: Scheme = field(default_factory=scheme)
    judge: str | None = None
    repeat: int = 0

    async def finish(self) -> Progress:
        """Sort what is not sorted yet, and write `errors.jsonl`; raises as a Labelling."""
        cases = self.cases()
        try:
            return await self.settle(cases)
        finally:
            export_errors(self.folder, self.manifest, self.release, self.store)

    def cases(self) -> list[Case]:
        """Return the failures to sort; raises as `failures`."""
        found = failures(self.manifest, self.release, self.store, self.judge, self.repeat)
        return [case._replace(change=self.scheme.label) for case in found]

    def estimate(self, price: Price | None) -> Estimate:
        """Return what `finish` would take; asks and stores nothing."""
        cases = self.cases()
        left = self.left(cases)
        tokens = sum(input_tokens(self.request(case, (), 0)) for case in left)
        replies = len(left) * _PARAMETERS.max_output_tokens
        cost = None if price is None else price.of(tokens, replies)
        return Estimate(len(cases), len(left), tokens, cost)

    def done(self) -> Collection[Key]:
        """Return the failures that are sorted under this scheme or another."""
        found = self.store.classifications()
        return {(item, 0, change) for who, change, item in found if who == self.model}

    def calls(self) -> Sequence[tuple[str, CallRow]]:
        """Return the answered calls, each with its scheme and reference."""
        return self.store.classifier_calls(self.model)

    def request(self, case: Case, exchange: Sequence[tuple[str, str]], draw: int) -> Request:
        """Return the request that asks what kind of failure a response is."""
        return classifier_request(case, self.scheme, exchange, draw)

    def read(self, text: str, case: Case) -> ErrorCategory:  # noqa: ARG002
        """Return the category in a reply; raises InvalidReply."""
        return parse_reply(text, reply_schema(self.scheme))

    async def keep(self, case: Case, label: ErrorCategory) -> None:
        """Commit the category of a failure."""
        name, _, change = case.key
        text = canonical_json(label.model_dump(mode="json"))
        await self.store.keep_classification(name, self.model, change, text)


def classifier_request(
    case: Case, scheme: Scheme, exchange: Sequence[tuple[str, str]] = (), draw: int = 0
) -> Request:
    """Return the request that puts one failure to the classifier."""
    reference = case.reference
    inputs = {
        "categories": scheme.categories,
        "question": case.question.question,
        "options": case.question.options,
        "format": case.question.format,
        "reference": Reference(
            answer=reference.answer, cues=reference.cues, key_points=reference.key_points
        ),
        "response": case.response,
    }
    prompt = render(PROMPT, inputs)
    return Request(
        role=EvaluationRole.CLASSIFIER,
        prompt_id=prompt.prompt_id,
        prompt_hash=prompt.hash,
        system=prompt.system,
        user=prompt.user,
        inputs=inputs,
        reply_schema=reply_schema(scheme),
        parameters=_PARAMETERS,
        exchange=tuple(exchange),
        draw=draw,
    )


def read_errors(manifest: RunManifest, release: Release, store: RunStore) -> list[ErrorLabel]:
    """Return the categories of a run's failures that stand under the release's references."""
    references = release.references()
    found = []
    for (classifier, change, name), text in store.classifications().items():
        label, _, digest = change.partition("@")
        reference = reference_digest(references[name])
        if reference.startswith(digest):
            reply = ErrorCategory.model_validate_json(text)
            found.append(
                ErrorLabel(
                    item_id=name,
                    model=manifest.model,
                    condition=manifest.condition,
                    classifier=classifier,
                    scheme=label,
                    category=reply.category,
                    reason=reply.reason,
                    reference=reference,
                )
            )
    return sorted(found, key=lambda one: (one.classifier, one.scheme, one.item_id))


def export_errors(folder: Path, manifest: RunManifest, release: Release, store: RunStore) -> None:
    """Write `errors.jsonl`: one line a category that stands, by classifier, scheme and item."""
    lines = [
        canonical_json(label.model_dump(mode="json"))
        for label in read_errors(manifest, release, store)
    ]
    write_whole(folder / ERRORS, "".join(f"{line}\n" for line in lines).encode())


@asynccontextmanager
async def classifying(
    folder: Path,
    model: str,
    kinds: Scheme,
    effective: Effective,
    cards: Cards,
    stop: asyncio.Event,
    release: Path | None = None,
    budget: float | None = None,
    judge: str | None = None,
    repeat: int = 0,
) -> AsyncIterator[Classifying]:
    """Yield a classifier ready to work on the run at `folder`; raises as `labelling`."""
    make = partial(Classifying, scheme=kinds, judge=judge, repeat=repeat)
    terms = (effective, cards, stop, release, budget)
    async with labelling(make, PROMPT, folder, model, *terms) as job:
        yield job

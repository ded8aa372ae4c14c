"""A run's responses as parsed values and as `responses.jsonl`."""

import json
from pathlib import Path

from evaluation.manifest import RunManifest
from evaluation.option_orders import Order, as_released, own_order, shown_question
from evaluation.responses import Outcome, Parsed, Response, parse_response
from evaluation.store import CallRow, RunStore
from psychemme.canonical import canonical_json
from psychemme.media.blobs import write_whole
from psychemme.release.read import Release
from psychemme.release.rows import QuestionRow
from psychemme.vocabulary import EvaluationRole

RESPONSES = "responses.jsonl"


def response_of(row: CallRow, manifest: RunManifest, question: QuestionRow) -> Response:
    """Return the parsed response of an answered call."""
    return _response(question.id, manifest, row.text, vars(parsed_reply(row, question)))


def parsed_reply(row: CallRow, question: QuestionRow) -> Parsed:
    """Return what an answered call's reply holds, in the release's option ids."""
    order = shown_order(row, question)
    options = shown_question(question, order).options
    parsed = parse_response(row.text, row.finish_reason, question.format, options)
    if parsed.answer is None:
        return parsed
    return parsed.model_copy(update={"answer": as_released(parsed.answer, question, order)})


def shown_order(row: CallRow, question: QuestionRow) -> Order:
    """Return the option order in which a call put `question`, as it was recorded then."""
    return tuple(json.loads(row.sent_json).get("option_order") or own_order(question))


def unanswered(item_id: str, manifest: RunManifest, error: str | None) -> Response:
    """Return the response of an item without a reply: a typed failure, never a wrong answer."""
    kind, _, why = (error or f"{Outcome.API_ERROR}: not asked").partition(": ")
    return _response(item_id, manifest, None, {"outcome": Outcome(kind), "reason": why or kind})


def read_responses(manifest: RunManifest, release: Release, store: RunStore) -> dict[str, Response]:
    """Return the response of every planned item, parsed as this version parses."""
    answered, errors = store.responses(), store.errors(EvaluationRole.EVALUATED)
    return {
        name: response_of(answered[name], manifest, release.questions[name])
        if name in answered
        else unanswered(name, manifest, errors.get(name))
        for name in sorted(manifest.items)
    }


def export_responses(
    folder: Path, manifest: RunManifest, release: Release, store: RunStore
) -> None:
    """Write `responses.jsonl`: one line a planned item, sorted by id, with what was sent."""
    sent = {name: row.sent_json for name, row in store.responses().items()}
    lines = [
        canonical_json(
            response.model_dump(mode="json") | {"sent": json.loads(sent.get(name, "null"))}
        )
        for name, response in read_responses(manifest, release, store).items()
    ]
    write_whole(folder / RESPONSES, "".join(f"{line}\n" for line in lines).encode())


def _response(
    item_id: str, manifest: RunManifest, raw: str | None, facts: dict[str, object]
) -> Response:
    who = {"item_id": item_id, "model": manifest.model, "condition": manifest.condition}
    return Response.model_validate({**facts, **who, "raw": raw})

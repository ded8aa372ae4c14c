"""A run's responses as parsed values and as `responses.jsonl`."""

import json
from pathlib import Path

from evaluation.manifest import RunManifest
from evaluation.responses import Outcome, Response, parse_response
from evaluation.store import CallRow, RunStore
from psychemme.canonical import canonical_json
from psychemme.media.blobs import write_whole
from psychemme.release.read import Release
from psychemme.release.rows import QuestionRow
from psychemme.vocabulary import EvaluationRole

RESPONSES = "responses.jsonl"


def response_of(row: CallRow, manifest: RunManifest, question: QuestionRow) -> Response:
    """Return the parsed response of an answered call."""
    parsed = parse_response(row.text, row.finish_reason, question.format, question.options)
    return _response(question.id, manifest, row.text, vars(parsed))


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

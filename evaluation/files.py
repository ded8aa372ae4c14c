"""Responses and judgements that other tools wrote, as JSON Lines (`docs/release-format.md`)."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evaluation.judge import Judgement, reference_digest
from evaluation.judged import Rater, chosen
from evaluation.option_orders import own_order
from evaluation.responses import Outcome, Response, parse_response
from evaluation.scoring import ScoringError
from psychemme.release.read import Release
from psychemme.vocabulary import Capability

RunKey = tuple[str, str]
"""Model and condition."""

MISSING = "missing"
"""The reason of an item without a line."""

_FIX = "Correct the file; docs/release-format.md describes it."


def read_response_file(path: Path, release: Release) -> dict[RunKey, dict[str, Response]]:
    """Return the responses in `path` by item, for each model and condition.

    Every item of the release is there: one without a line is `MISSING`, unscored. Raises
    ScoringError naming file, line and fault.
    """
    runs: dict[RunKey, dict[str, Response]] = {}
    for place, row in _rows(path):
        response = _response(place, row, release)
        run = runs.setdefault((response.model, response.condition), {})
        if response.item_id in run:
            raise ScoringError(f"{place}: item {response.item_id!r} stands twice.", _FIX)
        run[response.item_id] = response
    if not runs:
        raise ScoringError(f"{path} holds no response.", _FIX)
    for (model, condition), run in runs.items():
        for name in release.questions.keys() - run.keys():
            run[name] = Response(
                item_id=name,
                model=model,
                condition=condition,
                outcome=Outcome.API_ERROR,
                reason=MISSING,
            )
    return runs


def read_judgement_file(
    path: Path, release: Release, judge: str | None = None, repeat: int = 0
) -> dict[RunKey, Mapping[str, Judgement]]:
    """Return one judge's judgements in `path` by item, for each model and condition.

    Lines may name `judge`, `repeat` and the `reference` they were made under, as a run's own do;
    under another reference than the release's they are no judgement of the item. Raises
    ScoringError naming file, line and fault, also where a choice item has an `answer_credit`, or
    where an item was judged twice, and ConfigError where `judge` is unclear.
    """
    references = release.references()
    runs: dict[RunKey, dict[Rater, dict[str, Judgement]]] = {}
    for place, row in _rows(path):
        name, model, condition = _who(place, row, release)
        reasons = {key: row.get(key) or "not given" for key in ("evidence_reason", "logic_reason")}
        fields = {key: row[key] for key in Judgement.model_fields if key in row} | reasons
        judgement = _judgement(place, fields)
        is_choice = release.questions[name].format.is_choice
        if is_choice and judgement.answer_credit is not None:
            raise ScoringError(
                f"{place}: item {name!r} is a choice item with an `answer_credit`.",
                "Set it to null: code computes the credit of choice items.",
            )
        judged = runs.setdefault((model, condition), {}).setdefault(_rater(place, row), {})
        if name in judged:
            raise ScoringError(f"{place}: item {name!r} was judged twice.", _FIX)
        if row.get("reference") in (None, reference_digest(references[name])):
            judged[name] = judgement
    return {
        key: chosen(judged, None if _is_nameless(judged) else judge, repeat)
        for key, judged in runs.items()
    }


def _rater(place: str, row: dict[str, Any]) -> Rater:
    judge, repeat = row.get("judge", ""), row.get("repeat", 0)
    if not isinstance(judge, str) or type(repeat) is not int or repeat < 0:
        raise ScoringError(f"{place}: `judge` is no text or `repeat` no number from 0.", _FIX)
    return judge, repeat


def _is_nameless(judged: Mapping[Rater, object]) -> bool:
    return all(not judge for judge, _ in judged)


def _response(place: str, row: dict[str, Any], release: Release) -> Response:
    name, model, condition = _who(place, row, release)
    question = release.questions[name]
    sent = row.get("sent")
    order = sent.get("option_order") if isinstance(sent, dict) else None
    if order and order != list(own_order(question)):
        raise ScoringError(
            f"{place}: item {name!r} was shown in another option order.",
            "Score the run's folder in place of this file.",
        )
    who = {"item_id": name, "model": model, "condition": condition}
    raw = row.get("raw")
    if raw is None and row.get("answer") is None and row.get("outcome") not in (None, "ok"):
        facts = {"outcome": row["outcome"], "reason": str(row.get("reason") or row["outcome"])}
        try:
            return Response.model_validate(who | facts)
        except ValidationError:
            raise ScoringError(
                f"{place}: outcome {row['outcome']!r} is none of {', '.join(Outcome)}.", _FIX
            ) from None
    if raw is None:
        if "answer" not in row:
            raise ScoringError(f"{place} has neither `raw` nor `answer`.", _FIX)
        raw = _reply(place, row)
    ended = row.get("finish_reason")
    if not isinstance(raw, str) or not isinstance(ended, str | None):
        raise ScoringError(f"{place}: `raw` or `finish_reason` is no text.", _FIX)
    parsed = parse_response(raw, ended, question.format, question.options)
    return Response.model_validate({**vars(parsed), **who, "raw": raw})


def _reply(place: str, row: dict[str, Any]) -> str:
    rationales = row if row.get("rationales") is None else row["rationales"]
    if not isinstance(rationales, dict):
        raise ScoringError(f"{place}: `rationales` is no object.", _FIX)
    given = {field.value: rationales.get(field.value) for field in Capability}
    return json.dumps({"answer": row["answer"]} | given, ensure_ascii=False)


def _judgement(place: str, fields: dict[str, Any]) -> Judgement:
    try:
        # Strict, and as JSON: "1" and true are no credit, while labels are still texts.
        return Judgement.model_validate_json(json.dumps(fields), strict=True)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, fault["loc"])) or "line"
        raise ScoringError(f"{place}: {where}: {fault['msg']}.", _FIX) from None


def _who(place: str, row: dict[str, Any], release: Release) -> tuple[str, str, str]:
    found = [row.get(key) for key in ("item_id", "model", "condition")]
    name, model, condition = (value if isinstance(value, str) else "" for value in found)
    if not (name and model and condition):
        raise ScoringError(f"{place} lacks `item_id`, `model` or `condition`.", _FIX)
    if name not in release.questions:
        raise ScoringError(
            f"{place}: the release has no item {name!r}.", "Score it with its own release."
        )
    return name, model, condition


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}:{number}", _object(f"{path}:{number}", line)
    except (OSError, UnicodeDecodeError) as error:
        raise ScoringError(f"{path} cannot be read: {error}.", _FIX) from error


def _object(place: str, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ScoringError(f"{place} is not JSON: {error}.", _FIX) from None
    if not isinstance(row, dict):
        raise ScoringError(f"{place} is no JSON object.", _FIX)
    return row

"""Responses and judgements that other tools wrote, as JSON Lines (`docs/release-format.md`)."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue, ValidationError

from evaluation.inputs import InputPolicy, cohort
from evaluation.judge import Judgement, reference_digest
from evaluation.judged import Judged, Rater, chosen
from evaluation.option_orders import own_order
from evaluation.responses import Outcome, Response, parse_response
from evaluation.scoring import ScoringError
from psychemme.canonical import strict_json
from psychemme.release.read import Release
from psychemme.release.texts import seen
from psychemme.vocabulary import Capability

RunKey = tuple[str, str]
"""Model and condition."""

MISSING = "missing"
"""The reason of an item without a line."""

_FIX = "Correct the file; docs/release-format.md describes it."


class FileRun(NamedTuple):
    """One model's responses under one condition, what was sent with them, and judgements."""

    responses: dict[str, Response]
    sent: dict[str, JsonValue]
    judged: Judged


def read_response_file(path: Path, release: Release) -> dict[RunKey, FileRun]:
    """Return the responses in `path` by item, for each model and condition.

    Every item that a run of the condition asks about is there: one without a line is `MISSING`,
    unscored. Raises ScoringError naming file, line and fault.
    """
    runs: dict[RunKey, FileRun] = {}
    for place, row in json_lines(path):
        response = _response(place, row, release)
        run = runs.setdefault((response.model, response.condition), FileRun({}, {}, {}))
        if response.item_id in run.responses:
            raise ScoringError(f"{place}: item {response.item_id!r} stands twice.", _FIX)
        run.responses[response.item_id] = response
        if row.get("sent") is not None:
            run.sent[response.item_id] = row["sent"]
    if not runs:
        raise ScoringError(f"{path} holds no response.", _FIX)
    for (model, condition), run in runs.items():
        for name in sorted(_planned(release, condition) - run.responses.keys()):
            run.responses[name] = Response(
                item_id=name,
                model=model,
                condition=condition,
                outcome=Outcome.API_ERROR,
                reason=MISSING,
            )
    return runs


def _planned(release: Release, condition: str) -> frozenset[str]:
    """Return the ids a run asks about; a condition of another tool asks about all."""
    policy = InputPolicy.of_label(condition)
    return frozenset(cohort(release, policy) if policy else release.questions)


def read_judgement_file(path: Path, release: Release) -> dict[RunKey, Judged]:
    """Return every rater's judgements in `path` by item, for each model and condition.

    Lines may name `judge`, `repeat` and the `reference` they were made under, as a run's own do;
    under another reference than the release's they are no judgement of the item. Raises
    ScoringError naming file, line and fault, also where a choice item has an `answer_credit`, or
    where an item was judged twice.
    """
    references = release.references()
    runs: dict[RunKey, dict[Rater, dict[str, Judgement]]] = {}
    for place, row in json_lines(path):
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
    return dict(runs)


def read_files(release: Release, responses: Path, judgements: Path | None) -> dict[RunKey, FileRun]:
    """Return the run of each model and condition, in ascending order.

    Raises ScoringError, also for judgements of no response.
    """
    answered = read_response_file(responses, release)
    judged = read_judgement_file(judgements, release) if judgements else {}
    if strangers := sorted(judged.keys() - answered.keys()):
        model, condition = strangers[0]
        raise ScoringError(
            f"{judgements} judges {model} ({condition}), of which there is no response.",
            "Use one spelling of model and condition in both files.",
        )
    return {key: run._replace(judged=judged.get(key, {})) for key, run in sorted(answered.items())}


def chosen_of_file(judged: Judged, judge: str | None, repeat: int) -> Mapping[str, Judgement]:
    """Return one judge's judgements; lines that name no judge are whoever's is asked for.

    Raises ConfigError where `judge` is unclear.
    """
    is_nameless = all(not name for name, _ in judged)
    return chosen(judged, None if is_nameless else judge, repeat)


def _rater(place: str, row: dict[str, Any]) -> Rater:
    judge, repeat = row.get("judge", ""), row.get("repeat", 0)
    if not isinstance(judge, str) or type(repeat) is not int or repeat < 0:
        raise ScoringError(f"{place}: `judge` is no text or `repeat` no number from 0.", _FIX)
    _refuse_unseen(place, judge)
    return judge, repeat


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
    _refuse_unseen(place, model, condition)
    return name, model, condition


def _refuse_unseen(place: str, *names: str) -> None:
    """Refuse names that look like others: they hold what cannot be seen, or needless space."""
    for name in names:
        if not name.isprintable() or name != " ".join(seen(name).split()):
            raise ScoringError(
                f"{place}: the name {name!r} holds characters that show nothing, or outer or "
                "double space.",
                _FIX,
            )


def json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield where each line of `path` is, and its object; raises ScoringError naming the place."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}:{number}", _object(f"{path}:{number}", line)
    except (OSError, UnicodeDecodeError) as error:
        raise ScoringError(f"{path} cannot be read: {error}.", _FIX) from error


def _object(place: str, line: str) -> dict[str, Any]:
    try:
        row = strict_json(line)
    except (ValueError, RecursionError) as error:
        raise ScoringError(f"{place} is not JSON: {error}.", _FIX) from None
    if not isinstance(row, dict):
        raise ScoringError(f"{place} is no JSON object.", _FIX)
    return row

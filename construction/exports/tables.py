"""The rows of a release as flat tables of fixed columns, for Hugging Face and Croissant alike."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from construction.exports.source import Source, video_name, write_lines
from psychemme.release.rows import EpisodeRow, QuestionRow, ReferenceRow

Column = str | Mapping[str, str]
"""`string`, `float64`, `bool`, `strings` (a list), or a list of records by their columns."""

QUESTIONS: Mapping[str, Column] = {
    "id": "string",
    "episode_id": "string",
    "capability": "string",
    "subcategory": "string",
    "format": "string",
    "question": "string",
    "options": {"id": "string", "text": "string"},
    "public_context": "string",
    "history": {"text": "string", "before": "float64"},
    "facets": {"name": "string", "value": "string"},
    "decision_time": "float64",
    "canary": "string",
}
EPISODES: Mapping[str, Column] = {
    "id": "string",
    "source": "string",
    "source_group": "string",
    "source_video_id": "string",
    "recording_group": "string",
    "licence": "string",
    "consent": "string",
    "url": "string",
    "clip": "string",
    "sha256": "string",
    "start": "float64",
    "end": "float64",
    "duration": "float64",
    "transcript": {"start": "float64", "end": "float64", "text": "string"},
    "canary": "string",
}
REFERENCES: Mapping[str, Column] = {
    "id": "string",
    "answer": "strings",
    "cues": {
        "start": "float64",
        "end": "float64",
        "modality": "string",
        "description": "string",
    },
    "key_points": {"text": "string", "required": "bool"},
    "canary": "string",
}
VIDEO: Mapping[str, Column] = {"video": "string"}
WHAT = {
    "questions": "What is asked: one question a row, without its reference.",
    "episodes": "Where it is seen: one window of a clip a row, in seconds.",
    "references": "Private: answers, cues and key points by question id.",
}


def columns(source: Source) -> dict[str, Mapping[str, Column]]:
    """Return the columns of each table that `source` gives."""
    tables: dict[str, Mapping[str, Column]] = {
        "questions": QUESTIONS,
        "episodes": dict(EPISODES) | dict(VIDEO if source.has_videos else {}),
    }
    return tables | ({} if source.references is None else {"references": REFERENCES})


def write_tables(source: Source, folder: Path) -> dict[str, Path]:
    """Write each table of `source` as JSON Lines below `folder`; return the files by table."""
    files = {name: folder / "data" / f"{name}.jsonl" for name in columns(source)}
    for name, rows in _rows(source).items():
        write_lines(files[name], (dict(row) | {"canary": source.canary} for row in rows))
    return files


def _rows(source: Source) -> dict[str, Iterable[Mapping[str, object]]]:
    release = source.release
    rows: dict[str, Iterable[Mapping[str, object]]] = {
        "questions": map(_question, release.questions.values()),
        "episodes": (_episode(row, source.has_videos) for row in release.episodes.values()),
    }
    if source.references is not None:
        rows["references"] = map(_reference, source.references.values())
    return rows


def _question(row: QuestionRow) -> dict[str, object]:
    facets = [{"name": name, "value": value} for name, value in sorted(row.facets.items())]
    return row.model_dump(mode="json", include=set(QUESTIONS)) | {"facets": facets}


def _episode(row: EpisodeRow, has_video: bool) -> dict[str, object]:
    video = {"video": f"videos/{video_name(row.id)}"} if has_video else {}
    return row.model_dump(mode="json", include=set(EPISODES)) | video


def _reference(row: ReferenceRow) -> dict[str, object]:
    answer = [row.answer] if isinstance(row.answer, str) else sorted(set(row.answer))
    return row.model_dump(mode="json", include=set(REFERENCES)) | {"answer": answer}

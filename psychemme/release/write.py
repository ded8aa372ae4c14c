"""Write a release: sorted, canonical, the same bytes for the same rows."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from psychemme.canonical import canonical_json
from psychemme.release.rows import EpisodeRow, Manifest, QuestionRow, ReferenceRow, Row
from psychemme.vocabulary import Capability


def write_release(
    root: Path,
    facts: Mapping[str, object],
    questions: Sequence[QuestionRow],
    episodes: Sequence[EpisodeRow],
    references: Sequence[ReferenceRow],
) -> None:
    """Write both parts below `root`.

    `facts` are the manifest's fields other than `part`, `files`, `counts` and `capabilities`.
    """
    canary = str(facts["canary"])
    used = {question.capability for question in questions}
    shared = dict(facts) | {
        "capabilities": [capability for capability in Capability if capability in used],
        "counts": {
            "questions": len(questions),
            "episodes": len(episodes),
            **{str(c): sum(q.capability is c for q in questions) for c in sorted(used)},
        },
    }
    parts: dict[str, dict[str, Sequence[QuestionRow | EpisodeRow | ReferenceRow]]] = {
        "public": {"questions.jsonl": questions, "episodes.jsonl": episodes},
        "private": {"references.jsonl": references},
    }
    for part, files in parts.items():
        folder = root / part
        folder.mkdir(parents=True, exist_ok=True)
        sums = {name: _write(folder / name, rows, canary) for name, rows in files.items()}
        manifest = Manifest.model_validate(shared | {"part": part, "files": sums})
        text = canonical_json(manifest.model_dump(mode="json")) + "\n"
        (folder / "manifest.json").write_text(text, encoding="utf-8")


def _write(path: Path, rows: Sequence[QuestionRow | EpisodeRow | ReferenceRow], canary: str) -> str:
    ordered = sorted(rows, key=lambda row: row.id)
    lines = [canonical_json(_plain(row) | {"canary": canary}) + "\n" for row in ordered]
    data = "".join(lines).encode()
    path.write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def _plain(row: Row) -> dict[str, object]:
    return row.model_dump(mode="json")

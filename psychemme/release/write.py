"""Write a release: sorted, canonical, the same bytes for the same rows, whole or not at all."""

import hashlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from psychemme.canonical import canonical_json
from psychemme.errors import ReleaseError
from psychemme.release.faults import SUMS
from psychemme.release.rows import (
    EpisodeRow,
    ErratumRow,
    Manifest,
    QuestionRow,
    ReferenceRow,
    ReleaseFacts,
)
from psychemme.release.sums import sums_file
from psychemme.vocabulary import Capability


def write_release(
    root: Path,
    facts: ReleaseFacts,
    questions: Sequence[QuestionRow],
    episodes: Sequence[EpisodeRow],
    references: Sequence[ReferenceRow],
    cards: Mapping[str, bytes] | None = None,
) -> None:
    """Write both parts and SHA256SUMS at `root`; `cards` are further files of the public part.

    The rows are not judged. Raises ReleaseError where `root` exists and is not an empty folder.
    """
    canary = facts.canary
    public = {
        "questions.jsonl": jsonl(questions, canary),
        "episodes.jsonl": jsonl(episodes, canary),
        **(cards or {}),
    }
    private = {"references.jsonl": jsonl(references, canary)}
    shared = facts.model_dump() | {
        "capabilities": declared(questions),
        "counts": counts(questions, episodes),
    }
    files: dict[str, bytes] = {}
    for part, held in (("public", public), ("private", private)):
        sums = {name: hashlib.sha256(data).hexdigest() for name, data in held.items()}
        manifest = Manifest.model_validate(shared | {"part": part, "files": sums})
        whole = held | {"manifest.json": json_file(manifest.model_dump(mode="json"))}
        files |= {f"{part}/{name}": data for name, data in whole.items()}
    write_folder(root, files | {SUMS: sums_file(files, canary)})


def declared(questions: Sequence[QuestionRow]) -> tuple[Capability, ...]:
    """Return the capabilities that have a question, in their order."""
    used = {question.capability for question in questions}
    return tuple(capability for capability in Capability if capability in used)


def counts(questions: Sequence[QuestionRow], episodes: Sequence[EpisodeRow]) -> dict[str, int]:
    """Return the manifest's counts: questions, episodes, and questions of each capability."""
    return {
        "questions": len(questions),
        "episodes": len(episodes),
        **{str(c): sum(q.capability is c for q in questions) for c in declared(questions)},
    }


def jsonl(
    rows: Sequence[QuestionRow | EpisodeRow | ReferenceRow | ErratumRow], canary: str
) -> bytes:
    """Return `rows` as JSON Lines in ascending order of id, the canary in each line."""
    plain = [row.model_dump(mode="json") for row in sorted(rows, key=lambda row: row.id)]
    return b"".join(json_file(row | {"canary": canary}) for row in plain)


def json_file(value: object) -> bytes:
    """Return `value` as canonical JSON with a line's end."""
    return f"{canonical_json(value)}\n".encode()


def write_folder(root: Path, files: Mapping[str, bytes]) -> None:
    """Write `files` by their paths into a folder beside `root`, then rename it to `root`.

    Raises ReleaseError where `root` exists and is not an empty folder.
    """
    root = root.absolute()
    _refuse_target(root)
    root.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{root.name}-", dir=root.parent))
    try:
        for name, data in files.items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_bytes(data)
        made.chmod(0o755)
        made.rename(root)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _refuse_target(root: Path) -> None:
    if root.is_symlink() or (root.exists() and not root.is_dir()):
        raise ReleaseError(f"{root} is not a folder.", "Name another, or one that is empty.")
    if root.is_dir() and any(root.iterdir()):
        raise ReleaseError(f"{root} is not empty.", "A release is never overwritten: name another.")

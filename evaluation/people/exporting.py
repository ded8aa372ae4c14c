"""How far people are, and what they said as a file."""

from collections.abc import Mapping
from pathlib import Path

from evaluation.people.kinds import is_complete, rows_of
from evaluation.people.rows import SCHEMA_VERSION, AnyRow, Kind
from evaluation.people.store import PeopleStore
from evaluation.people.study import kept_private, read_study
from psychemme.canonical import canonical_json, strict_json
from psychemme.episode import Value
from psychemme.errors import RunError
from psychemme.media.blobs import write_whole


class Standing(Value):
    """How far one person is.

    `is_reviewer` is what an annotator declared, None before that and for other people; `last_at`
    is the time of the newest answer (UTC microseconds).
    """

    done: int
    total: int
    has_finished: bool
    is_reviewer: bool | None
    last_at: int | None


def standings(folder: Path) -> dict[str, Standing]:
    """Return how far each person of the study at `folder` is, by name."""
    study = read_study(folder)
    found = {}
    with PeopleStore(folder, for_reading=True) as store:
        for person in sorted(study.orders):
            kept = store.answers(person)
            done = [n for n, one in kept.items() if is_complete(study, study.tasks[n], one.content)]
            found[person] = Standing(
                done=len(done),
                total=len(study.tasks),
                has_finished=store.finished(person),
                is_reviewer=store.declared(person),
                last_at=max((one.at for one in kept.values()), default=None),
            )
    return found


def export_rows(folder: Path, target: Path) -> Mapping[str, Standing]:
    """Write every complete answer of the study at `folder` to `target`, sorted; return standings.

    What is not complete is no row: whoever reads the file sees that it is missing. Raises RunError
    where nothing is, or where `target` is part of the study or holds something else.
    """
    study = read_study(folder)
    _refuse_target(folder, target)
    rows: list[AnyRow] = []
    with PeopleStore(folder, for_reading=True) as store:
        for person in study.orders:
            for place, kept in store.answers(person).items():
                task = study.tasks[place]
                if is_complete(study, task, kept.content):
                    rows.extend(rows_of(study, person, task, kept))
    if not rows:
        raise RunError(f"Nobody has answered anything in {folder} yet.", "Export it later.")
    rows.sort(key=lambda row: [getattr(row, name) for name in row.IDENTITY])
    about = study.release.model_dump(include={"name", "version", "checksum"})
    facts = {"schema_version": SCHEMA_VERSION, "release": about}
    lines = [canonical_json(row.model_dump(mode="json") | facts) for row in rows]
    with kept_private():
        write_whole(target, "".join(f"{line}\n" for line in lines).encode())
    return standings(folder)


def _refuse_target(folder: Path, target: Path) -> None:
    if target.resolve().is_relative_to(folder.resolve()):
        raise RunError(f"{target} is inside the study.", "Name a file elsewhere with --out.")
    if target.exists() and not _is_export(target):
        raise RunError(f"{target} is no earlier export.", "Name another file with --out.")


def _is_export(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8") as file:
            first = strict_json(file.readline())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(first, dict) and first.get("kind") in list(Kind)

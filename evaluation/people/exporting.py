"""How far people are, and what they said as a file."""

from collections.abc import Mapping
from pathlib import Path

from evaluation.people.kinds import is_complete, rows_of
from evaluation.people.rows import SCHEMA_VERSION, AnyRow
from evaluation.people.store import PeopleStore
from evaluation.people.study import read_study
from psychemme.canonical import canonical_json
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
    with PeopleStore(folder) as store:
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
    where nothing is.
    """
    study = read_study(folder)
    rows: list[AnyRow] = []
    with PeopleStore(folder) as store:
        for person in study.orders:
            for place, kept in store.answers(person).items():
                task = study.tasks[place]
                if is_complete(study, task, kept.content):
                    rows.extend(rows_of(study, person, task, kept))
    if not rows:
        raise RunError(f"Nobody has answered anything in {folder} yet.", "Export it later.")
    rows.sort(key=lambda row: [getattr(row, name) for name in row.IDENTITY])
    lines = [
        canonical_json(row.model_dump(mode="json") | {"schema_version": SCHEMA_VERSION})
        for row in rows
    ]
    write_whole(target, "".join(f"{line}\n" for line in lines).encode())
    return standings(folder)

"""Studies of people, their browsers, and a server of them that can be killed.

Run as a module it serves a study: `python -m tests.support.people STUDY PORT`.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from evaluation.error_categories import ErrorLabel, scheme
from evaluation.people.opening import (
    baseline_tasks,
    endorse_tasks,
    error_tasks,
    label_tasks,
    open_study,
)
from evaluation.people.rows import Kind
from evaluation.people.study import PeopleStudy, Task, film_path, read_study, write_study
from evaluation.people.web.app import create_app
from evaluation.people.web.site import Visitor
from psychemme.release.read import Release
from tests.support.report_runs import HOSTILE, NAMES, report_run, runs_of

ADDRESS = "http://127.0.0.1:8766"
PEOPLE = ("ada", "ben")
FILM = bytes(range(256)) * 40
JUDGE = "judge-27b"


def tasks_of(kind: Kind, release: Release, count: int, seed: int = 42) -> Sequence[Task]:
    """Return tasks of a kind, from synthetic runs where it needs some."""
    runs = runs_of(release)
    if kind is Kind.BASELINE:
        return baseline_tasks(release, count, seed)
    if kind is Kind.LABEL:
        return label_tasks(release, runs, count, seed)
    if kind is Kind.ENDORSE:
        return endorse_tasks(release, runs, count, seed, 0.1)
    responses = [one for run in runs for one in run.responses.values()]
    return error_tasks(release, responses, error_labels(release), count, seed)


def error_labels(release: Release) -> list[ErrorLabel]:
    """Return a category for every response of the first model."""
    run, known = report_run(release, NAMES[0], 0.82), scheme().ids
    return [
        ErrorLabel(
            item_id=name,
            model=NAMES[0],
            condition="full",
            classifier="c",
            scheme=scheme().label,
            category=known[place % len(known)],
        )
        for place, name in enumerate(sorted(run.responses))
    ]


def study_at(
    folder: Path,
    kind: Kind,
    release: Release,
    count: int = 6,
    people: Sequence[str] = PEOPLE,
    film: bytes | None = FILM,
    is_hostile: bool = False,
) -> dict[str, str]:
    """Open a study, with `film` for the window of every episode, and return the links' tokens."""
    tasks = tasks_of(kind, release, count)
    if is_hostile:
        tasks = [hostile(task) for task in tasks]
    categories = scheme().categories if kind is Kind.ERRORS else ()
    tokens = open_study(
        folder, kind, release, tasks, people, 42, address=ADDRESS, categories=categories
    )
    study = read_study(folder)
    if film is not None:
        write_study(folder, study.model_copy(update={"films": tuple(study.episodes)}))
        for episode in study.episodes.values():
            path = film_path(folder, episode)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(film)
    return tokens


def hostile(task: Task) -> Task:
    """Return the task with hostile words wherever a release may have some."""
    question = task.question
    options = [o.model_copy(update={"text": f"{o.text} {HOSTILE}"}) for o in question.options]
    changes: dict[str, Any] = {
        "question": f"{question.question} {HOSTILE}",
        "public_context": HOSTILE,
        "options": tuple(options),
    }
    return task.model_copy(update={"question": question.model_copy(update=changes)})


def task_of(study: PeopleStudy, person: str, number: int) -> Task:
    """Return a person's task by its number, from 1."""
    return study.tasks[study.orders[person][number - 1]]


class Browser(TestClient):
    """A browser signed in with a link's token."""

    def __init__(self, app: Any, token: str, address: str = ADDRESS) -> None:
        super().__init__(app, base_url=address, follow_redirects=False)
        entered = self.post("/enter", data={"token": token})
        assert entered.status_code == 303, entered.text
        self.csrf = Visitor("", token).csrf

    def declare(self, is_reviewer: str = "no") -> Any:
        """Say whether one reviewed items."""
        return self.post("/declare", data={"csrf": self.csrf, "is_reviewer": is_reviewer})

    def save(self, number: int, fields: Any, revision: int = 0, **more: Any) -> Any:
        """Post a form's fields as the page's script does."""
        body = {"fields": fields, "seconds": 1.5, "revision": revision} | more
        return self.post(f"/api/tasks/{number}", json=body, headers={"x-csrf-token": self.csrf})


def main(folder: str, port: str) -> None:
    """Serve a study on loopback."""
    from psychemme.pages.serving import open_door, serve_app

    with open_door("127.0.0.1", int(port)) as door:
        serve_app(create_app(Path(folder)), door, ())


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A people study: a folder with `study.json`, which pins what whom is asked, and `people.db`.

`study.json` is written once, holds all that the pages show, and is private: planted decisions and,
but for a baseline, references are known in it. A study needs neither release nor run any more.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from evaluation.error_categories import Category
from evaluation.judge import Judgement
from evaluation.manifest import ReleaseName
from evaluation.people.rows import Decision, Draw, Kind
from psychemme.canonical import digest
from psychemme.episode import Value
from psychemme.errors import RunError
from psychemme.items import Answer, Option
from psychemme.media.blobs import write_whole
from psychemme.release.rows import EpisodeRow, QuestionRow, ReferenceRow
from psychemme.vocabulary import Capability

FILE_NAME = "study.json"
SCHEMA_VERSION = 1


class ModelWords(Value):
    """A response as people read it, and whose it is, which the pages hide."""

    model: str
    condition: str
    answer: Answer
    rationales: Mapping[Capability, str]


class Task(Value):
    """One item to answer, or one response to it to look at.

    `judgement` is the judge's own, None where people are blind to it; of its decisions, those in
    `planted` are shown moved. `proposed` is the error category that a model gave.
    """

    question: QuestionRow
    reference: ReferenceRow | None = None
    words: ModelWords | None = None
    judge: str | None = None
    judgement: Judgement | None = None
    planted: Mapping[Decision, str | float] = {}
    proposed: str | None = None

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What there is to decide about the response; code decides the credit of choice items."""
        is_choice = self.question.format.is_choice
        return tuple(d for d in Decision if d is not Decision.ANSWER_CREDIT or not is_choice)

    def shown(self, decision: Decision) -> str | float:
        """Return the label or credit that people are shown for a decision."""
        return self.planted.get(decision, getattr(self.judgement, decision))


class PeopleStudy(Value):
    """What a study pins. `orders` holds, for each person, the places of `tasks` in their order.

    `id` tells it from every other study; links begin with `address`. `films` are the ids of the
    episodes whose window was cut into `media/`. `draw` is how responses were drawn, None where a
    study has none or does not say.
    """

    schema_version: int = SCHEMA_VERSION
    id: str
    address: str
    kind: Kind
    release: ReleaseName
    seed: int
    orders: Mapping[str, tuple[int, ...]]
    tasks: tuple[Task, ...]
    episodes: Mapping[str, EpisodeRow]
    films: tuple[str, ...] = ()
    draw: Draw | None = None
    categories: tuple[Category, ...] = ()

    def options(self, person: str, task: Task) -> tuple[Option, ...]:
        """Return the options in the order that a person sees, under the release's ids."""
        options = task.question.options
        if self.kind is not Kind.BASELINE:
            return options
        chance = seeded(self.seed, person, task.question.id)
        return tuple(chance.sample(options, len(options)))


def http_port(address: str) -> int | None:
    """Return the port that an `http` address names, None where it names none."""
    try:
        parts = urlsplit(address)
        return parts.port if parts.scheme == "http" else None
    except ValueError:
        return None


def seeded(*parts: object) -> Random:
    """Return a source of chance that `parts` fix."""
    return Random(digest(parts))  # noqa: S311 - a seeded design


def person_orders(people: tuple[str, ...], tasks: int, seed: int) -> dict[str, tuple[int, ...]]:
    """Return an order of `tasks` places for each person."""
    return {who: tuple(seeded(seed, who).sample(range(tasks), tasks)) for who in people}


def film_path(folder: Path, episode: EpisodeRow) -> Path:
    """Return where a study keeps the window of an episode; ids are no file names."""
    window = digest([episode.sha256, episode.start, episode.end])
    return folder / "media" / f"{window[:32]}.mp4"


@contextmanager
def kept_private() -> Iterator[None]:
    """Let nobody else read what this process makes meanwhile."""
    earlier = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(earlier)


def write_study(folder: Path, study: PeopleStudy) -> None:
    """Write `study.json`."""
    text = json.dumps(study.model_dump(mode="json"), indent=1, ensure_ascii=False)
    write_whole(folder / FILE_NAME, f"{text}\n".encode())


def read_study(folder: Path) -> PeopleStudy:
    """Return the study at `folder`; raises RunError where it holds none that this can read."""
    path = folder / FILE_NAME
    try:
        content: Any = json.loads(path.read_bytes())
        made_by = content["schema_version"]
        if made_by == SCHEMA_VERSION:
            return PeopleStudy.model_validate(content)
    except FileNotFoundError:
        raise RunError(
            f"{folder} is no study of people.", "Name a folder that `psychemme people open` made."
        ) from None
    except (OSError, ValueError, TypeError, KeyError, ValidationError) as error:
        why = str(error).splitlines()[0]
        raise RunError(f"{path} cannot be read: {why}.", "Restore it from a copy.") from None
    raise RunError(
        f"{path} has schema version {made_by!r}; this reads {SCHEMA_VERSION}.",
        "Use a version of psychemme that reads it.",
    )

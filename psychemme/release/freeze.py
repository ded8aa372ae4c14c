"""Freeze: what goes into a release, what it must satisfy, and the folder that comes out.

The same values give the same bytes. Nothing is written unless nothing is wrong.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from psychemme.errors import ReleaseError
from psychemme.release.cards import card, errata_page, licences, terms
from psychemme.release.checks import release_faults, review_faults
from psychemme.release.diff import ReleaseDiff, Rows, diff_rows, rows_of
from psychemme.release.errata import Erratum, errata_faults, erratum_rows
from psychemme.release.faults import (
    PUBLIC_MANIFEST,
    QUESTIONS,
    Fault,
    ReleaseRefused,
    Rule,
    counted,
)
from psychemme.release.names import Names
from psychemme.release.read import Release, read_release
from psychemme.release.rows import (
    EpisodeRow,
    ErratumRow,
    QuestionRow,
    ReferenceRow,
    ReleaseFacts,
    ReviewFacts,
)
from psychemme.release.statistics import Composition
from psychemme.release.versions import Bump, least_next, parse_version, version_text
from psychemme.release.write import (
    json_file,
    jsonl,
    write_release,
)

__all__ = [
    "EpisodeRow",
    "Erratum",
    "Fault",
    "QuestionRow",
    "ReferenceRow",
    "ReleaseFacts",
    "ReleaseRefused",
    "ReviewFacts",
    "derived_canary",
    "release_faults",
    "write_frozen",
]

MoreFiles = Callable[[Release], Mapping[str, bytes]]
"""From a release to further public files of it, by their paths below `public/`."""


def derived_canary(name: str) -> str:
    """Return the canary of a release: the same GUID for all its versions."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"psychemme release {name}"))


def write_frozen(
    root: Path,
    facts: ReleaseFacts,
    questions: Sequence[QuestionRow],
    episodes: Sequence[EpisodeRow],
    references: Sequence[ReferenceRow],
    errata: Sequence[Erratum] = (),
    previous: Path | None = None,
    more: MoreFiles | None = None,
    faults: Sequence[Fault] = (),
) -> ReleaseDiff | None:
    """Write a frozen release at `root`; return how it differs from the one at `previous`.

    `errata` are what this version says of faults of `previous`, `faults` what the caller found;
    `more` adds public files. Raises ReleaseRefused with every fault, the caller's included, and
    ReleaseError where `root` is not empty or `previous` cannot be read.
    """
    facts = facts.model_copy(update={"version": version_text(parse_version(facts.version))})
    before = read_release(previous) if previous else None
    diff = diff_rows(_whole(before), _by_id(questions, episodes, references)) if before else None
    found = [*faults, *release_faults(questions, episodes, references)]
    found += _facts_faults(facts, questions)
    found += errata_faults(errata, diff, {q.id for q in questions} | {e.id for e in episodes})
    found += _version_faults(facts, before, diff)
    if found:
        action = "Mend or leave out what is named, then freeze again."
        raise ReleaseRefused(counted(len(found), "fault"), found, action)
    known = (*(before.errata() if before else ()), *erratum_rows(errata, facts.version))
    files = _public_files(facts, Composition(questions, episodes), known)
    if more:
        with TemporaryDirectory() as folder:
            draft = Path(folder) / "release"
            write_release(draft, facts, questions, episodes, references, files)
            files |= more(read_release(draft))
    write_release(root, facts, questions, episodes, references, files)
    return diff


def _by_id(
    questions: Sequence[QuestionRow],
    episodes: Sequence[EpisodeRow],
    references: Sequence[ReferenceRow],
) -> Rows:
    return Rows(
        questions={row.id: row for row in questions},
        episodes={row.id: row for row in episodes},
        references={row.id: row for row in references},
    )


def _whole(before: Release) -> Rows:
    rows = rows_of(before)
    if rows.references is None:
        raise ReleaseError(
            f"{before.root} has no private part, so that references cannot be compared.",
            "Name the previous release with both parts.",
        )
    return rows


def _public_files(
    facts: ReleaseFacts, composition: Composition, errata: Sequence[ErratumRow]
) -> dict[str, bytes]:
    # Imports matplotlib.
    from psychemme.release.figures import draw_figures

    drawn = draw_figures(composition, Names(facts.profile), facts.canary)
    return {
        "README.md": card(facts, composition),
        "ERRATA.md": errata_page(facts, errata),
        "licences.csv": licences(terms(composition), facts.canary),
        "statistics.json": json_file(composition.as_json() | {"canary": facts.canary}),
        **({"errata.jsonl": jsonl(errata, facts.canary)} if errata else {}),
        **{f"figures/{name}": data for name, data in drawn.items()},
    }


def _facts_faults(facts: ReleaseFacts, questions: Sequence[QuestionRow]) -> Iterator[Fault]:
    if not questions:
        yield Fault(file=QUESTIONS, rule=Rule.MISSING, problem="there is no question")
    yield from review_faults(PUBLIC_MANIFEST, facts)


def _version_faults(
    facts: ReleaseFacts, before: Release | None, diff: ReleaseDiff | None
) -> Iterator[Fault]:
    if before is None or diff is None:
        return
    old = before.manifest
    if old.name != facts.name:
        problem = f"{facts.name!r} is no version of {old.name!r}"
        yield Fault(file=PUBLIC_MANIFEST, rule=Rule.VERSION, problem=problem)
    least = least_next(parse_version(old.version), diff.bump)
    if parse_version(facts.version) < least:
        problem = f"after {old.version}, {_REASONS[diff.bump]}: {version_text(least)} or higher"
        yield Fault(file=PUBLIC_MANIFEST, rule=Rule.VERSION, problem=problem)


_REASONS = {
    Bump.MAJOR: "with items removed or changed",
    Bump.MINOR: "with items added",
    Bump.PATCH: "with the same items",
}

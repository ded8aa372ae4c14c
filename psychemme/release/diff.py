"""How two releases differ: which items, in which fields, and what that means for the version.

References are compared and named, never shown, so that a difference may be published.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from psychemme.canonical import canonical_json
from psychemme.episode import Value
from psychemme.errors import ReleaseError
from psychemme.release.read import Release
from psychemme.release.rows import EpisodeRow, QuestionRow, ReferenceRow, Row
from psychemme.release.versions import Bump

_TERMS = frozenset({"licence", "consent", "url", "source_start"})
"""Fields of an episode that say nothing of what is seen or scored."""
_GROUPING = frozenset({"subcategory", "facets"})
Changed = Mapping[str, tuple[str, ...]]
"""Id to the fields that changed."""


class Rows(Value):
    """The rows of a release by id; the references None where they are not at hand."""

    questions: Mapping[str, QuestionRow]
    episodes: Mapping[str, EpisodeRow]
    references: Mapping[str, ReferenceRow] | None


class ReleaseDiff(Value):
    """What is in the new release and not in the old one, and so on; ids in ascending order.

    `references` is None where a private part is absent. `composition` maps capability and format,
    such as `G single`, to the number of questions before and after.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: Changed
    references: Changed | None
    episodes_added: tuple[str, ...]
    episodes_removed: tuple[str, ...]
    episodes_changed: Changed
    composition: Mapping[str, tuple[int, int]]

    @property
    def faulty(self) -> frozenset[str]:
        """The ids that were wrong: removed or changed items, and changed episodes."""
        episodes = {n for n, fields in self.episodes_changed.items() if not set(fields) <= _TERMS}
        return frozenset({*self.removed, *self.corrected, *episodes})

    @property
    def corrected(self) -> frozenset[str]:
        """The items in both whose question or reference changed."""
        return frozenset({*self.changed, *(self.references or {})})

    @property
    def bump(self) -> Bump:
        """The least part of the version that must grow.

        Major where an old response would score otherwise or was made from something else: an item
        was removed, or what is asked, shown or right changed. Minor where items were only added.
        """
        regrouped = {n for n, fields in self.changed.items() if set(fields) <= _GROUPING}
        regrouped -= set(self.references or {})
        if self.faulty - regrouped:
            return Bump.MAJOR
        return Bump.MINOR if self.added else Bump.PATCH


def rows_of(release: Release) -> Rows:
    """Return the rows of `release`, with its references where it has them."""
    private = (release.root / "private").is_dir()
    references = release.references() if private else None
    return Rows(questions=release.questions, episodes=release.episodes, references=references)


def require_same_name(old: Release, new: Release) -> None:
    """Raise ReleaseError where two releases are not versions of one benchmark."""
    names = old.manifest.name, new.manifest.name
    if names[0] != names[1]:
        raise ReleaseError(
            f"{names[0]!r} and {names[1]!r} are not versions of one release.",
            "Name two versions of the same.",
        )


def diff_rows(old: Rows, new: Rows) -> ReleaseDiff:
    """Return how `new` differs from `old`."""
    references = None
    if old.references is not None and new.references is not None:
        references = _changed(old.references, new.references)
    return ReleaseDiff(
        added=_less(new.questions, old.questions),
        removed=_less(old.questions, new.questions),
        changed=_changed(old.questions, new.questions),
        references=references,
        episodes_added=_less(new.episodes, old.episodes),
        episodes_removed=_less(old.episodes, new.episodes),
        episodes_changed=_changed(old.episodes, new.episodes),
        composition=_composition(old.questions.values(), new.questions.values()),
    )


def _less(held: Mapping[str, Row], other: Mapping[str, Row]) -> tuple[str, ...]:
    return tuple(sorted(held.keys() - other.keys()))


def _changed(old: Mapping[str, Row], new: Mapping[str, Row]) -> dict[str, tuple[str, ...]]:
    both = sorted(old.keys() & new.keys())
    fields = {name: _fields(old[name], new[name]) for name in both}
    return {name: found for name, found in fields.items() if found}


def _fields(old: Row, new: Row) -> tuple[str, ...]:
    one, other = old.model_dump(mode="json"), new.model_dump(mode="json")
    return tuple(n for n in one if canonical_json(one[n]) != canonical_json(other[n]))


def _composition(
    old: Iterable[QuestionRow], new: Iterable[QuestionRow]
) -> dict[str, tuple[int, int]]:
    before, after = (Counter(f"{q.capability} {q.format}" for q in rows) for rows in (old, new))
    return {cell: (before[cell], after[cell]) for cell in sorted(before | after)}

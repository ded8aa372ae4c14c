"""A clip's terms can be stated when it is added, or later, and never changed by the way."""

from pathlib import Path

import pytest

from construction.ingest import Provenance, add_clips
from psychemme.errors import MediaError
from state import migrate
from state.clips import ClipStore

PLAIN = Provenance(
    source="s",
    source_group="s",
    source_video_id=None,
    source_start=0.0,
    recording_group=None,
    licence=None,
    consent=None,
    url=None,
    context="",
    history=None,
)


def added(store: ClipStore, file: Path, **terms: str) -> tuple[str, tuple[str, ...]]:
    provenance = Provenance(**(vars(PLAIN) | terms))
    (one,) = add_clips(store, [file], provenance)
    return one.verdict, one.lacks


def test_terms_that_are_missing_are_stated_by_adding_the_clip_again(tmp_path: Path) -> None:
    file = tmp_path / "a.mp4"
    file.write_bytes(b"bytes")
    migrate.upgrade(tmp_path / "state.db")
    with ClipStore(tmp_path / "state.db") as store:
        assert added(store, file) == ("added", ("licence", "consent"))
        assert added(store, file) == ("known", ("licence", "consent"))
        assert added(store, file, licence="CC0-1.0") == ("updated", ("consent",))
        assert added(store, file, consent="written", licence="other") == ("updated", ())
        assert added(store, file, licence="other") == ("known", ())
        (clip,) = store.clips()
    assert (clip.licence, clip.consent, clip.source) == ("CC0-1.0", "written", "s")


@pytest.mark.parametrize("term", ["licence", "consent", "url"])
def test_a_term_of_which_nothing_can_be_seen_is_refused(tmp_path: Path, term: str) -> None:
    file = tmp_path / "a.mp4"
    file.write_bytes(b"bytes")
    migrate.upgrade(tmp_path / "state.db")
    with ClipStore(tmp_path / "state.db") as store:
        for text in (" ", "\u200b", "\u2800", "\u3164"):
            with pytest.raises(MediaError, match=term):
                added(store, file, **{term: text})
        assert list(store.clips()) == []

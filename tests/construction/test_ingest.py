"""A clip's terms can be stated when it is added, or later, and never changed by the way."""

from pathlib import Path

from construction.ingest import Provenance, add_clips
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

"""Blobs and clips at a URI: what one machine stores another finds, whole and checked."""

import hashlib
import pickle
from pathlib import Path

import fsspec
import pytest

from construction.ingest import Provenance, add_clips
from psychemme.canonical import digest
from psychemme.errors import ConfigError, MediaError
from psychemme.media.blobs import BlobStore
from psychemme.media.clip_files import clip_file, clip_file_with_sidecar
from psychemme.media.remote import shown
from state.clips import ClipStore
from tests.support.states import make_state

PROVENANCE = Provenance("lab", "lab", None, 0.0, None, None, None, None, "", None)


@pytest.fixture(params=["memory", "file"])
def uri(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return f"file://{tmp_path}/far"
    return f"memory://{tmp_path.name}/far"


def write(uri: str, data: bytes) -> None:
    files, path = fsspec.core.url_to_fs(uri)
    files.makedirs(path.rpartition("/")[0], exist_ok=True)
    files.pipe_file(path, data)


def test_another_machine_finds_what_one_stored(uri: str, tmp_path: Path) -> None:
    here, there = BlobStore(tmp_path / "here", uri), BlobStore(tmp_path / "there", uri)
    sha256 = here.put(b"picture", ".jpg")
    assert there.path(sha256).read_bytes() == b"picture"
    assert there.path(sha256).is_relative_to(tmp_path / "there")
    assert not there.holds("0" * 64)
    made: list[int] = []
    for store in (here, there, pickle.loads(pickle.dumps(there))):
        assert store.cached(digest("a"), lambda: made.append(1) or {"x": 1.5}) == {"x": 1.5}
    assert len(made) == 1


def test_what_was_altered_there_is_not_taken(uri: str, tmp_path: Path) -> None:
    here, there = BlobStore(tmp_path / "here", uri), BlobStore(tmp_path / "there", uri)
    sha256 = here.put(b"picture", ".jpg")
    here.cached(digest("a"), lambda: 1)
    write(f"{uri}/blobs/{sha256[:2]}/{sha256}.jpg", b"another")
    write(f"{uri}/results/{digest('a')[:2]}/{digest('a')}.json", b"{")
    assert not there.holds(sha256)
    assert there.cached(digest("a"), lambda: 2) == 2
    assert BlobStore(tmp_path / "third", uri).cached(digest("a"), lambda: 3) == 2


def test_a_clip_is_fetched_once_and_checked(uri: str, tmp_path: Path) -> None:
    write(f"{uri}/a.MP4", b"moving")
    sha256 = hashlib.sha256(b"moving").hexdigest()
    copy = clip_file(f"{uri}/a.MP4", sha256, tmp_path / "blobs")
    assert (copy.read_bytes(), copy.name) == (b"moving", "a.MP4")
    assert copy.is_relative_to(tmp_path / "blobs")
    write(f"{uri}/a.MP4", b"altered")
    assert clip_file(f"{uri}/a.MP4", sha256, tmp_path / "blobs") == copy
    with pytest.raises(MediaError, match="has changed"):
        clip_file(f"{uri}/a.MP4", sha256, tmp_path / "others")
    assert not [path for path in (tmp_path / "others").rglob("*") if path.is_file()]
    with pytest.raises(MediaError, match="fails: FileNotFoundError"):
        clip_file(f"{uri}/b.mp4", sha256, tmp_path / "blobs2")


def test_a_transcript_beside_it_follows(uri: str, tmp_path: Path) -> None:
    write(f"{uri}/a.mp4", b"moving")
    sha256 = hashlib.sha256(b"moving").hexdigest()
    copy = clip_file_with_sidecar(f"{uri}/a.mp4", sha256, tmp_path)
    assert not copy.with_suffix(".srt").exists()
    write(f"{uri}/a.srt", b"words")
    clip_file_with_sidecar(f"{uri}/a.mp4", sha256, tmp_path)
    assert copy.with_suffix(".srt").read_bytes() == b"words"


def test_clips_are_added_by_uri(uri: str, tmp_path: Path) -> None:
    write(f"{uri}/a.mp4", b"moving")
    make_state(tmp_path / "state.db")
    with ClipStore(tmp_path / "state.db") as store:
        (added,) = add_clips(store, [f"{uri}/a.mp4"], PROVENANCE)
        (clip,) = (one for one in store.clips() if one.id == added.id)
        assert (clip.path, clip.size) == (f"{uri}/a.mp4", 6)
        assert clip.sha256 == hashlib.sha256(b"moving").hexdigest()
        seen = []
        with pytest.raises(MediaError, match="could be read"):
            seen.extend(add_clips(store, [f"{uri}/none.mp4", f"{uri}/a.mp4"], PROVENANCE))
        with pytest.raises(MediaError) as refused:
            list(add_clips(store, ["sftp://ada:secret@host/a.mp4?key=secret"], PROVENANCE))
        assert "secret" not in str(refused.value)


def test_messages_hide_what_a_uri_may_hold() -> None:
    assert shown("s3://me:key@bucket/a?token=x#y") == "s3://bucket/a"
    with pytest.raises(ConfigError, match="nothing://host/a"):
        BlobStore(Path(), "nothing://me:key@host/a")

"""The store gives back what was put in, whole, and computes nothing twice."""

import hashlib
import os
import stat

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psychemme.canonical import digest
from psychemme.media.blobs import BlobStore, sha256_file, write_whole


@given(st.binary(max_size=100))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_bytes_come_back_by_their_hash(tmp_path, data):
    store = BlobStore(tmp_path)
    sha256 = store.put(data, ".bin")
    assert sha256 == hashlib.sha256(data).hexdigest() == sha256_file(store.path(sha256))
    assert store.path(sha256).read_bytes() == data
    assert store.put(data, ".bin") == sha256


def test_unknown_and_unsafe_names_are_refused(tmp_path):
    store = BlobStore(tmp_path)
    for name in ("0" * 64, "../secret", "*"):
        with pytest.raises(KeyError):
            store.path(name)
    with pytest.raises(ValueError, match="suffix"):
        store.put(b"", "/../x")
    with pytest.raises(ValueError, match="SHA-256"):
        store.cached("../x", dict)


def test_a_result_is_made_once_and_again_where_it_is_broken(tmp_path):
    store, calls = BlobStore(tmp_path), []

    def make():
        calls.append(1)
        return {"value": [1.5, "é"]}

    for _ in range(3):
        assert store.cached(digest("a"), make) == {"value": [1.5, "é"]}
    assert len(calls) == 1
    next((tmp_path / "results").rglob("*.json")).write_text('{"value": [1')
    assert store.cached(digest("a"), make) == {"value": [1.5, "é"]}
    assert len(calls) == 2


def test_a_fault_is_not_kept(tmp_path):
    store = BlobStore(tmp_path)
    with pytest.raises(ZeroDivisionError):
        store.cached(digest("a"), lambda: 1 / 0)
    assert store.cached(digest("a"), lambda: 1) == 1


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    target = tmp_path / "a"
    write_whole(target, b"old")
    with pytest.raises(TypeError):
        write_whole(target, "not bytes")
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_file_is_for_whom_the_umask_says(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "a", b"whole")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640

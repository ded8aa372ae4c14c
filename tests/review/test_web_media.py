"""Footage in byte ranges."""

import re

import pytest

from psychemme.media.cut import cut_window
from psychemme.media.probe import probe
from tests.support.clips import write_clip
from tests.support.review_web import FOOTAGE, FOOTAGE_URL, Browser, browser, database, make_site
from tests.support.states import EPISODE_ID

SIZE = len(FOOTAGE)


@pytest.fixture(scope="module")
def ada(tmp_path_factory) -> Browser:
    return browser(make_site(tmp_path_factory.mktemp("media") / "w"), "ada")


def test_the_whole_is_served_and_says_that_it_has_ranges(ada):
    whole = ada.get(FOOTAGE_URL)
    assert (whole.status_code, whole.content) == (200, FOOTAGE)
    assert whole.headers["content-type"] == "video/mp4"
    assert whole.headers["accept-ranges"] == "bytes"
    head = ada.head(FOOTAGE_URL)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(SIZE)
    assert head.headers["etag"] == whole.headers["etag"]


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=0-", 0, SIZE),
        ("bytes=100-199", 100, 200),
        (f"bytes={SIZE - 1}-", SIZE - 1, SIZE),
        ("bytes=-10", SIZE - 10, SIZE),
        (f"bytes=10-{SIZE + 999}", 10, SIZE),
    ],
)
def test_a_range_is_served_to_the_byte(ada, asked, start, end):
    for act in (ada.get, ada.head):
        part = act(FOOTAGE_URL, headers={"range": asked})
        assert part.status_code == 206
        assert part.headers["content-range"] == f"bytes {start}-{end - 1}/{SIZE}"
        assert part.headers["content-length"] == str(end - start)
        assert part.content == (FOOTAGE[start:end] if act == ada.get else b"")


def test_several_ranges_come_in_parts(ada):
    parts = ada.get(FOOTAGE_URL, headers={"range": "bytes=0-1,10-11"})
    assert parts.status_code == 206
    assert parts.headers["content-type"].startswith("multipart/byteranges")
    found = re.findall(rb"Content-Range: bytes (\d+)-(\d+)/", parts.content, re.IGNORECASE)
    assert found == [(b"0", b"1"), (b"10", b"11")]


@pytest.mark.parametrize("asked", [f"bytes={SIZE}-", "bytes=999999-1000000"])
def test_a_range_past_the_end_is_refused(ada, asked):
    refused = ada.get(FOOTAGE_URL, headers={"range": asked})
    assert refused.status_code == 416
    assert refused.headers["content-range"] == f"bytes */{SIZE}"


@pytest.mark.parametrize("asked", ["bytes", "bytes=", "bytes=x-y", "lines=0-1", "bytes=5-1", "ü"])
def test_a_malformed_range_is_harmless(ada, asked):
    found = ada.get(FOOTAGE_URL, headers={"range": asked.encode()})
    assert found.status_code in {200, 400, 416}
    assert found.status_code != 200 or found.content == FOOTAGE


def test_a_range_of_another_state_of_the_file_gives_the_whole(ada):
    etag = ada.head(FOOTAGE_URL).headers["etag"]
    asked = {"range": "bytes=0-9"}
    assert ada.get(FOOTAGE_URL, headers=asked | {"if-range": etag}).status_code == 206
    assert ada.get(FOOTAGE_URL, headers=asked | {"if-range": '"other"'}).content == FOOTAGE


def test_missing_footage_is_told_to_its_reviewer(tmp_path):
    app = make_site(tmp_path / "w")
    (tmp_path / "w" / "review" / f"{EPISODE_ID}-1.mp4").unlink()
    missing = browser(app, "ada").get(FOOTAGE_URL)
    assert missing.status_code == 404
    assert "footage is missing" in missing.text


def test_cut_footage_plays_after_it_is_served(tmp_path):
    app = make_site(tmp_path / "w")
    footage = database(app).parent / "review" / f"{EPISODE_ID}-1.mp4"
    cut_window(write_clip(tmp_path / "clip.mp4", seconds=4), footage, 1.0, 3.0)
    got = tmp_path / "got.mp4"
    got.write_bytes(browser(app, "ada").get(FOOTAGE_URL).content)
    assert probe(got).duration == pytest.approx(2.0, abs=0.1)

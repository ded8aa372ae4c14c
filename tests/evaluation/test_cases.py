"""The cases page: which items it shows, what it hides, and what hostile text cannot do."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluation.report.cases import MOST, most_different, write_cases
from evaluation.scoring import ScoringError
from psychemme.cli.main import app
from psychemme.errors import MediaError
from psychemme.media.blobs import sha256_file
from tests.support.judges import evaluated_run
from tests.support.report_runs import HOSTILE, REASON, release_of, runs_of
from tests.support.studies import Item, Said, study_of


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    release = release_of(tmp_path_factory.mktemp("release"), 24)
    return release, runs_of(release)


def page_of(held, out: Path, **how) -> str:
    page, _ = write_cases(*held, out, **how)
    return page.read_text(encoding="utf-8")


def test_the_items_shown_are_those_on_which_credit_varies_most():
    weak = Said("A", support="weak")
    items = [
        # v of m and n: 1 and 0; 1 and 2/3; the same; 1 and 0 again.
        Item("q1", "e1", "G", "single", "A", {"m": Said("A"), "n": Said("B")}),
        Item("q2", "e1", "G", "single", "A", {"m": Said("A"), "n": weak}),
        Item("q3", "e1", "G", "single", "A", {"m": weak, "n": weak}),
        Item("q0", "e1", "G", "single", "A", {"m": Said("B"), "n": Said("A")}),
    ]
    names, rule = most_different(study_of(items).runs)
    assert names == ["q0", "q1", "q2"]
    assert "the runs' Verified credit varies most" in rule


def test_runs_of_equal_verified_credit_are_told_apart_by_their_answers():
    # v is 0 where nothing is explained, and unknown where nobody judged.
    blank, unjudged = Said("A", c=0), Said("A", support=None)
    items = [
        Item("q1", "e1", "G", "single", "A", {"m": blank, "n": Said("B")}),
        Item("q2", "e1", "G", "single", "A", {"m": unjudged, "n": Said("B")}),
        Item("q3", "e1", "G", "single", "A", {"m": blank, "n": blank}),
    ]
    names, rule = most_different(study_of(items).runs)
    assert names == ["q1", "q2"]
    assert "the runs' answer credit varies most" in rule


def test_runs_that_never_differ_need_items_by_name():
    items = [Item("q1", "e1", "G", "single", "A", {"m": Said("A"), "n": Said("A")})]
    with pytest.raises(ScoringError, match="--item"):
        most_different(study_of(items).runs)


def test_no_more_than_a_page_of_cases(held, tmp_path):
    assert page_of(held, tmp_path).count('<article class="case"') == MOST


def test_items_can_be_named_and_each_run_says_what_it_said(held, tmp_path):
    _, runs = held
    text = page_of(held, tmp_path, items=["q0003", "q0001", "q0003"], with_references=True)
    assert re.findall(r'<article class="case" id="(case-\d)"', text) == ["case-1", "case-2"]
    assert text.count('<section class="answer">') == 2 * len(runs)
    assert "private</strong>" in text
    assert "PRIVATE-CUE" in text
    assert REASON in text
    with pytest.raises(ScoringError, match="No run was asked item 'q9999'"):
        write_cases(*held, tmp_path, items=["q9999"])


def test_without_references_nothing_private_is_written(held, tmp_path):
    names = list(held[0].questions)
    text = page_of(held, tmp_path, items=names)
    for word in ("PRIVATE", "answer credit", "Verified", "reference</span>", "Evidence Support"):
        assert word not in text
    assert "leans on the ladder" in text
    assert "PRIVATE-POINT" in page_of(held, tmp_path, items=names, with_references=True)


def test_hostile_text_stays_text(held, tmp_path):
    text = page_of(held, tmp_path, items=list(held[0].questions), with_references=True)
    assert HOSTILE not in text
    assert "<img" not in text
    assert text.count("<script") == 1
    assert "style=" not in text
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    assert "default-src &#39;none&#39;" in policy
    assert "unsafe-inline" not in policy


def test_the_name_of_a_run_cannot_turn_the_line(held, tmp_path):
    release, runs = held
    turned = [replace(run, name=f"a\u202e{place}\x1b") for place, run in enumerate(runs)]
    text = page_of((release, turned), tmp_path, items=["q0000"])
    heads = re.findall(r"<h3><bdi>(.*?)</bdi></h3>", text)
    assert heads == [f"a {place} " for place in range(len(runs))]


def test_windows_are_cut_once_and_named_by_their_content(tmp_path):
    clips = tmp_path / "clips"
    clips.mkdir()
    clip = clips / "one.mp4"
    clip.write_bytes(b"a clip")
    release = release_of(tmp_path / "release", 6, clip="one.mp4", sha256=sha256_file(clip))
    held, cuts = (release, runs_of(release)), []

    def cut(source: Path, target: Path, start: float, end: float) -> None:
        cuts.append((source, start, end))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"window")

    out = tmp_path / "out"
    how = {"items": ["q0000", "q0001"], "media": [clips], "cut": cut}
    text = page_of(held, out, **how)
    assert text == page_of(held, out, **how)
    assert cuts == [(clip, 0.0, 20.0)]
    (window,) = (out / "media").iterdir()
    window.write_bytes(b"")
    page_of(held, out, **how)
    assert (len(cuts), window.read_bytes()) == (2, b"window")
    assert text.count(f'src="media/{window.name}"') == 2
    assert re.fullmatch(r"[0-9a-f]{16}\.mp4", window.name)


def test_a_window_that_cannot_be_made_says_why(held, tmp_path):
    page, problems = write_cases(*held, tmp_path, items=["q0000"], media=[tmp_path], cut=print)
    assert "is not in the media folders" in problems["e0000"]
    assert "is not in the media folders" in page.read_text(encoding="utf-8")

    def fails(*_: object) -> None:
        raise MediaError("no codec", "Encode it again.")

    clip = tmp_path / "none.mp4"
    clip.write_bytes(b"x")
    altered = release_of(tmp_path / "other", 6, clip="none.mp4", sha256=sha256_file(clip))
    found = write_cases(
        altered, runs_of(altered), tmp_path, items=["q0000"], media=[tmp_path], cut=fails
    )
    assert found[1] == {"e0000": "no codec Encode it again."}


def test_the_verb_writes_the_page_and_says_what_it_lacks(tmp_path):
    run = asyncio.run(evaluated_run(tmp_path, 6))
    out = tmp_path / "out"
    how = ["--item", "q0001", "--media", str(tmp_path), "--out", str(out)]
    result = CliRunner().invoke(app, ["cases", str(run), *how])
    assert result.exit_code == 0, result.output
    assert "no clip of e0000" in result.output
    assert "scene 1?" in (out / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "command",
    [
        ["cases"],
        ["report"],
        ["score"],
        ["judges"],
        ["compare"],
        ["plan-power"],
        ["analyse", "retention"],
        ["judge", "--model", "j"],
        ["errors", "--model", "j"],
        ["people", "open", "endorse", "--people", "ada", "--judge", "j"],
    ],
)
def test_a_run_folder_is_named_once(tmp_path, command):
    folders = [str(tmp_path / "run"), str(tmp_path / "other" / ".." / "run")]
    result = CliRunner().invoke(app, [*command, *folders], env={"COLUMNS": "500"})
    assert result.exit_code == 2, result.output
    assert "is named twice" in result.output

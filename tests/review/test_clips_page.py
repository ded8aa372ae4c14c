"""The page of clips: what it shows of each, and that a decision is the same as `screen decide`."""

import pytest

from construction.screening.verdicts import (
    SCREENED_OUT,
    read_standings,
)
from psychemme.media.blobs import BlobStore
from psychemme.vocabulary import ClipStatus, ScreeningMaker
from state.clips import ClipStore
from tests.construction.report_cases import HOSTILE
from tests.support.review_web import browser, curator, database, make_site
from tests.support.screened_clips import BROKEN, COPY, OTHER, fill_clips
from tests.support.states import CLIP

PAGE = "/curator/clips"


@pytest.fixture
def app(tmp_path):
    app = make_site(tmp_path / "w")
    fill_clips(app.state.site.workspace, tmp_path)
    return app


@pytest.fixture
def boss(app):
    return curator(app)


def articles(page: str) -> dict[str, str]:
    """Return the part of the page about each clip, by its id."""
    parts = page.split('<article class="panel clip" id="c-')[1:]
    return {part[:16]: part for part in parts}


def decide(boss, name=OTHER, path="", **fields):
    sent = {"csrf": boss.csrf, "by": "Cu Rator", "reason": "a good one", "verdict": "keep"}
    return boss.post(f"{PAGE}/{name}{path}", data=sent | fields)


def test_each_clip_is_shown_with_what_was_found(boss):
    shown = articles(boss.get(PAGE).text)
    assert list(shown) == [CLIP.id, COPY, OTHER, BROKEN]
    assert shown[CLIP.id].count("<img ") == 3
    assert "refused by rules" in shown[CLIP.id]
    assert (
        '<td class="num"><span class="no">20</span></td><td class="num">50</td>' in shown[CLIP.id]
    )
    assert f'href="#c-{COPY}"' in shown[CLIP.id]
    assert f'href="#c-{CLIP.id}"' in shown[COPY]
    assert "refused by model" in shown[OTHER]
    assert "rubric_minimum.safety" in shown[OTHER]
    assert "waits for the next screen" in shown[OTHER]
    assert "cannot be used" in shown[BROKEN]
    assert "has no video" in shown[BROKEN]


def test_hostile_names_transcripts_and_reasons_are_escaped(boss):
    page = boss.get(PAGE).text
    assert "window.owned" in page
    assert "<script>window" not in page
    assert "<img src=x" not in page
    assert "eye<b>" not in page
    assert "eye&lt;b&gt;" in page


def test_a_name_turns_no_text_around_and_a_long_one_wraps(app, boss):
    with ClipStore(database(app)) as clips:
        mine = next(clip for clip in clips.clips() if clip.id == BROKEN)
        name = f"/there/\u202egpj.{'x' * 200}\u2069.mp4"
        reason = f"'{name}' has no video."
        clips.put_clip(mine.model_copy(update={"path": name, "reason": reason}))
    shown = articles(boss.get(PAGE).text)[BROKEN]
    assert f"gpj.{'x' * 200}.mp4</bdi>" in shown
    assert "\u202e" not in shown
    assert "\u2069" not in shown
    rule = ".clip p.no { white-space: normal; overflow-wrap: anywhere; }"
    assert rule in boss.get("/static/curator.css").text


@pytest.mark.parametrize(
    ("show", "names"),
    [
        ("kept", []),
        ("refused", [CLIP.id, COPY, OTHER, BROKEN]),
        ("copies", [CLIP.id, COPY]),
        ("open", [CLIP.id, COPY, OTHER, BROKEN]),
    ],
)
def test_the_page_is_narrowed(boss, show, names):
    assert list(articles(boss.get(f"{PAGE}?show={show}").text)) == names


def test_clips_are_paged(app, boss):
    with ClipStore(database(app)) as clips:
        for n in range(40):
            name = f"{n:x}".rjust(16, "a")
            clips.put_clip(CLIP.model_copy(update={"id": name, "sha256": name * 4}))
    pages = [articles(boss.get(f"{PAGE}?page={n}").text) for n in (1, 2, 3, 4)]
    assert [len(page) for page in pages] == [20, 20, 4, 0]
    assert len({name for page in pages for name in page}) == 44
    assert "Page 2 of 3" in boss.get(f"{PAGE}?page=2").text


def test_a_decision_is_kept_with_its_reason_and_returns_to_the_clip(app, boss):
    sent = decide(boss, path="?show=refused&page=1", reason=HOSTILE)
    assert sent.status_code == 303
    assert sent.headers["location"] == f"{PAGE}?show=refused&done=decided#c-{OTHER}"
    standing = read_standings(database(app))[OTHER]
    assert not standing.is_refused
    assert (standing.decided_by, standing.name) == (ScreeningMaker.PERSON, "Cu Rator")
    assert standing.reasons[-1].measure == HOSTILE
    page = boss.get(f"{PAGE}?done=decided").text
    assert "The decision is kept." in page
    assert "kept by person" in articles(page)[OTHER]
    assert "<script>window" not in page
    decide(boss, verdict="undecided", reason="once more")
    assert read_standings(database(app))[OTHER].decided_by is ScreeningMaker.MODEL


def test_a_verdict_that_is_in_effect_waits_for_nothing(app, boss):
    with ClipStore(database(app)) as clips:
        out = {"status": ClipStatus.REFUSED, "reason": f"{SCREENED_OUT}rubric."}
        mine = next(clip for clip in clips.clips() if clip.id == OTHER)
        clips.put_clip(mine.model_copy(update=out))
    assert "waits for" not in articles(boss.get(PAGE).text)[OTHER]
    decide(boss)
    assert "waits for" in articles(boss.get(PAGE).text)[OTHER]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"reason": " "}, 400),
        ({"by": "\u2800"}, 400),
        ({"by": "x" * 101}, 400),
        ({"reason": "x" * 4001}, 400),
        ({"reason": "a\0b"}, 400),
        ({"verdict": "burn"}, 400),
        ({"csrf": "0"}, 403),
        ({"name": "f" * 16}, 404),
        ({"name": "..%2f" * 5}, 404),
        ({"name": CLIP.id[:6]}, 404),
    ],
)
def test_what_cannot_be_kept_is_refused(app, boss, fields, status):
    assert decide(boss, **fields).status_code == status
    assert all(one.decided_by != "person" for one in read_standings(database(app)).values())


def test_only_pictures_are_served_and_only_to_curators(app, boss):
    site = app.state.site
    other = BlobStore(site.workspace.blobs).put(b"secret", ".mp4")
    page = boss.get(PAGE).text
    still = page.partition('<img src="')[2].partition('"')[0]
    found = boss.get(still)
    assert (found.status_code, found.headers["content-type"]) == (200, "image/jpeg")
    assert found.content.startswith(b"\xff\xd8")
    for name in (other, "f" * 64, "0", "../state"):
        assert boss.get(f"/curator/stills/{name}.jpg").status_code == 404
    ada = browser(app, "ada")
    for path in (PAGE, still):
        assert ada.get(path).status_code == 403
    assert decide(ada).status_code == 403


def test_a_workspace_without_screening_shows_its_clips(tmp_path):
    boss = curator(make_site(tmp_path / "w"))
    shown = articles(boss.get(PAGE).text)
    assert "not screened" in shown[CLIP.id]
    assert "No pictures of it are stored." in shown[CLIP.id]

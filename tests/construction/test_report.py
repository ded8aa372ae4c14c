import base64
import hashlib
import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from construction.quality import Quality
from construction.report import EAGER_VIDEOS, model_notes, write_report
from psychemme.errors import MediaError
from tests.construction import report_cases as cases


class Page(HTMLParser):
    """The page as a browser's parser sees it: elements with attributes, and raw text by element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.raw.append((tag, ""))

    def handle_data(self, data):
        if self.cdata_elem:
            tag, text = self.raw[-1]
            self.raw[-1] = (tag, text + data)
        elif data.strip():
            self.words.append(" ".join(data.split()))

    def all(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return [
            found
            for name, found in self.elements
            if name == tag and all(found.get(key) == value for key, value in wanted.items())
        ]


def written(out: Path, hostile: str = "", cut=cases.cut_nothing, models=None) -> Page:
    found = cases.dossiers(hostile=hostile)
    quality = cases.quality(found, hostile)
    path = write_report(found, cases.coverage_of(found), [cases.run(models)], out, cut, quality)
    assert path == out / "index.html"
    return Page(path.read_text(encoding="utf-8"))


def hash_of(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def test_hostile_text_stays_text(tmp_path):
    page, plain = written(tmp_path / "a", cases.HOSTILE), written(tmp_path / "b")
    tags = [[tag for tag, _ in each.elements] for each in (page, plain)]
    assert tags[0] == tags[1]
    assert not page.all("img")
    names = {name for _, attributes in page.elements for name in attributes}
    assert not {name for name in names if name.startswith("on") or name == "style"}
    shown = " ".join(page.words)
    assert shown.count(cases.HOSTILE) > 10


def test_control_characters_do_not_stop_the_page(tmp_path):
    page = written(tmp_path, "\x00\u202e\u2028")
    assert len(page.all("article")) == 4


def test_only_the_hashed_script_and_style_may_run(tmp_path):
    page = written(tmp_path, cases.HOSTILE)
    (meta,) = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    policy = dict(part.strip().split(" ", 1) for part in meta["content"].split(";"))
    (style,) = [text for tag, text in page.raw if tag == "style"]
    data, script = [text for tag, text in page.raw if tag == "script"]
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == hash_of(script)
    assert policy["style-src"] == hash_of(style)
    assert policy["media-src"] == "'self'"
    assert len(json.loads(data)) == 2
    assert "http:" not in meta["content"]


def test_nothing_is_loaded_from_elsewhere(tmp_path):
    page = written(tmp_path)
    links = [a.get("src") or a.get("href") for _, a in page.elements]
    assert all(link.startswith(("media/", "#")) for link in links if link)
    assert not page.all("link")


def test_each_candidate_has_a_card_and_each_cue_a_button(tmp_path):
    page = written(tmp_path)
    assert [card["data-state"] for card in page.all("article")] == [
        "accepted",
        "discarded",
        "failed",
        "pending",
    ]
    assert len(page.all("button", class_="cue")) == 4 + 1 + 3
    assert "No question was proposed." in page.words


def test_totals_and_cells_are_those_of_the_coverage(tmp_path):
    found = cases.dossiers()
    report = cases.coverage_of(found)
    page = written(tmp_path)
    at = page.words.index("Coverage")
    totals = [int(word) for word in page.words[at : at + 20] if word.isdigit()][:5]
    assert totals == [report.started, *report.totals.model_dump().values()]
    heat = [
        cell["class"] for cell in page.all("td") if (cell.get("class") or "").startswith("heat")
    ]
    # In the order of capabilities: G pending, N discarded, T met, then both of M.
    assert heat == ["heat-0", "heat-0", "heat-4", "heat-0", "heat-0"]


def test_both_answers_and_their_marks_are_shown(tmp_path):
    page = written(tmp_path)
    assert page.words.count("agrees") == 1
    assert page.words.count("differs") == 1
    right = [li for li in page.all("li") if "right" in (li.get("class") or "").split()]
    # Final question and rounds: the single one twice and its first round, the multiple one twice.
    assert len(right) == 1 + 2 + 2 * 2
    assert {"required", "optional", "ambiguous"} <= set(page.words)


def test_a_window_is_cut_once_and_kept(tmp_path):
    cuts = []

    def cut(source, target, start, end):
        cuts.append((source, target.name, start, end))
        target.write_bytes(b"")

    page = written(tmp_path, cut=cut)
    written(tmp_path, cut=cut)
    name = "0123456789abcdef-100000-112000.mp4"
    assert len(cuts) == 2
    assert cuts[1] == (Path("clips/coffee.mp4"), name, 100.0, 112.0)
    assert page.all("video")[2]["src"] == f"media/{name}"


@pytest.mark.parametrize("fault", [MediaError("The clip <b>is</b> gone.", "Add it."), OSError(28)])
def test_a_window_that_cannot_be_cut_gives_its_reason(tmp_path, fault):
    def cut(source, target, start, end):
        if start:
            raise fault
        target.write_bytes(b"")

    page = written(tmp_path, cut=cut)
    assert len(page.all("article")) == 4
    assert len(page.all("video")) == 3
    assert str(fault) in page.words


def test_an_episode_id_is_never_a_path(tmp_path):
    found = cases.dossiers()[:1]
    bad = found[0].episode.model_copy(update={"id": "../../etc/passwd"})
    found[0] = found[0].model_copy(update={"episode": bad})
    with pytest.raises(ValueError, match="no plain file name"):
        write_report(found, cases.coverage_of(found), [], tmp_path, cases.cut_nothing)


def test_the_same_candidates_give_the_same_bytes(tmp_path):
    found = cases.dossiers()
    report = cases.coverage_of(found)
    later = cases.run().model_copy(update={"created_at": 99})
    one = write_report(found, report, [cases.run()], tmp_path / "a", cases.cut_nothing)
    two = write_report(found[::-1], report, [later], tmp_path / "b", cases.cut_nothing)
    assert one.read_bytes() == two.read_bytes()


def test_a_large_run_loads_few_windows_at_once(tmp_path):
    many = [
        cases.dossier(n, "T", "single", d.outcome.state, d.rounds, d.clip, d.episode)
        for n, d in enumerate(cases.dossiers()[:2] * 50)
    ]
    path = write_report(many, cases.coverage_of(many), [], tmp_path, cases.cut_nothing)
    page = Page(path.read_text(encoding="utf-8"))
    preloads = [video["preload"] for video in page.all("video")]
    assert preloads == ["metadata"] * EAGER_VIDEOS + ["none"] * (100 - EAGER_VIDEOS)
    # Transcripts are embedded once an episode, not once a candidate.
    assert path.read_text(encoding="utf-8").count("I am trying to sleep better") == 1


def test_an_empty_workspace_gives_a_page(tmp_path):
    path = write_report([], cases.coverage_of([]), [], tmp_path, cases.cut_nothing)
    assert {"No candidates yet.", "No run yet."} <= set(Page(path.read_text()).words)


def test_what_was_checked_before_people_is_shown(tmp_path):
    page = written(tmp_path)
    said = " ".join(page.words)
    assert (
        "1 of 3 screened clips refused. Clip Refused by Reason Measure Threshold still.mp4" in said
    )
    assert "least speech 0.4 s 2.0 s duplicate the same of c1 0.9" in said
    found = cases.quality(cases.dossiers())
    assert {result.title for result in found.audit.results} <= set(page.words)
    assert "Of 2 items 1 leak, where guessing alone makes 0.08 leak" in said
    assert "T single 2 1 1 0.08 0 0" in said
    assert "question third hold-out kept 3 14 21.4 [7.6, 47.6] 25.0 0" in said


def test_what_offends_is_linked_to_its_candidate(tmp_path):
    page = written(tmp_path)
    cards = {card["id"] for card in page.all("article")}
    links = {link["href"][1:] for link in page.all("a", class_="mono")}
    findings = [f for r in cases.quality(cases.dossiers()).audit.results for f in r.findings]
    assert links == {f"c-{one.item_id}" for one in findings} | {
        f"c-{cases.dossiers()[0].outcome.target.key}"
    }
    assert links <= cards
    assert {link["href"][1:] for link in page.all("a")} <= {
        element.get("id") for _, element in page.elements
    }


def test_a_workspace_that_checked_nothing_says_so(tmp_path):
    nothing = Quality(clips=0, refused=())
    path = write_report([], cases.coverage_of([]), [], tmp_path, cases.cut_nothing, nothing)
    said = set(Page(path.read_text()).words)
    assert {
        "No clip was screened.",
        "No accepted candidate to audit.",
        "The leakage filter was not run.",
    } <= said


@pytest.mark.parametrize(
    ("models", "notes"),
    [
        (("a", "b", "c"), ()),
        (("a", "a", "b"), ("identical model for question, answer",)),
        (("a", "b", "signal"), ("signal baseline, no language model (critic)",)),
        (
            ("signal",) * 3,
            (
                "signal baseline, no language model",
                "identical model for question, answer, critic",
            ),
        ),
    ],
)
def test_models_are_flagged(tmp_path, models, notes):
    named = dict(zip(("question", "answer", "critic"), models, strict=True))
    assert model_notes(named) == notes
    assert set(notes) <= set(written(tmp_path, models=named).words)

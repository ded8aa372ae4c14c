"""The verbs of review and freeze, as a curator types them."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from construction.review import opening
from construction.review.closing import replace_version
from construction.review.votes import VoteRow
from construction.workspace import Workspace
from psychemme.canonical import canonical_json
from psychemme.cli.main import main
from psychemme.release.read import read_release
from psychemme.vocabulary import Approval, Verdict
from state.review_desk import ReviewDesk
from tests.support.accepted import items, make_accepted

ANSWERS = ("A", ["A", "B"], "hold the ladder")
Verb = Callable[..., str]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr(opening, "cut_window", lambda *_: None)
    return make_accepted(tmp_path / "workspace", *items(3))


@pytest.fixture
def psychemme(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Verb:
    """Return what runs a verb, asserts how it ends and returns what it says."""

    def run(*words: str, ends: int = 0) -> str:
        given = ["psychemme", "--workspace", str(workspace.root), *words]
        monkeypatch.setattr(sys, "argv", given)
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert (ended.value.code or 0) == ends, said
        assert "Traceback" not in said.out + said.err
        return said.err if ends else said.out

    monkeypatch.setenv("COLUMNS", "200")
    return run


def votes(path: Path, names: tuple[str, ...]) -> str:
    rows = [
        VoteRow(
            candidate_id=f"c{number}",
            reviewer=name,
            blind_answer=answer,
            verdicts=dict.fromkeys(Verdict, Approval.APPROVE),
        )
        for number, answer in enumerate(ANSWERS)
        for name in names
    ]
    path.write_text("".join(canonical_json(one.model_dump(mode="json")) + "\n" for one in rows))
    return str(path)


def table(psychemme: Verb, *words: str) -> Any:
    return json.loads(psychemme(*words, "--json"))


def test_from_candidates_to_an_example_release(psychemme: Verb, tmp_path: Path) -> None:
    links = {
        psychemme("review", "invite", name, "--name", name.title()).strip()
        for name in ("ada", "ben")
    }
    assert len(links) == 2
    assert all(link.startswith("http://127.0.0.1:8765/enter/") for link in links)
    opened = psychemme("review", "open", "--reviewers", "2", "--no-assign")
    assert "3 items in set main" in opened
    assert "6 assignments added, 0 still wanted" in psychemme("review", "assign")
    (first, *_) = table(psychemme, "review", "status")
    assert first == {
        "candidate": "1-c0",
        "version": 1,
        "set": "main",
        "stage": "open",
        "wanted": 2,
        "assigned": 2,
        "answered": 0,
        "voted": 0,
        "approving": 0,
        "skipped": 0,
        "lacking": 0,
    }
    assert [one["id"] for one in table(psychemme, "review", "reviewers")] == ["ada", "ben"]
    file = votes(tmp_path / "votes.jsonl", ("demo-1", "demo-2"))
    imported = psychemme("review", "import", file, "--demonstration")
    assert "6 votes stored, 0 were there already" in imported
    again = psychemme("review", "import", file, "--demonstration")
    assert "0 votes stored, 6 were there already" in again
    assert "closed: none" in psychemme("review", "close"), "two were asked and have not voted"
    for name in ("ada", "ben"):
        psychemme("review", "revoke", name)
    assert "closed: 3 approved" in psychemme("review", "close")
    out = tmp_path / "out.jsonl"
    assert "6 votes" in psychemme("review", "export", str(out))
    assert len(out.read_text().splitlines()) == 6
    assert "overall" in json.dumps(table(psychemme, "agreement"))
    release = str(tmp_path / "release")
    ordered = ("freeze", release, "--name", "lab", "--version", "1.0", "--licence", "CC0-1.0")
    refusal = psychemme(*ordered, ends=1)
    for number in range(3):
        assert f"c{number}: its votes are a demonstration" in refusal
    assert not Path(release).exists()
    dated = ("--date", "2026-11-30", "--example")
    assert "3 items frozen" in psychemme(*ordered, *dated)
    assert "no faults" in psychemme("verify", release)
    metadata = json.loads((Path(release) / "public" / "croissant.json").read_text())
    manifest = read_release(Path(release)).manifest
    assert metadata["datePublished"] == "2026-11-30"
    sums = {one["contentUrl"]: one["sha256"] for one in metadata["distribution"]}
    assert sums == {name: manifest.files[name] for name in ("questions.jsonl", "episodes.jsonl")}


def test_open_items_go_to_label_studio_with_their_versions(
    psychemme: Verb, workspace: Workspace, tmp_path: Path
) -> None:
    folder = tmp_path / "tasks"
    assert "No item's review is open" in psychemme(
        *("review", "export", str(folder), "--to", "label-studio"), ends=1
    )
    psychemme("review", "open", "--no-assign")
    with ReviewDesk(workspace.database) as desk:
        before = desk.version(("1-c0", 1)).item
        edited = before.model_copy(update={"version": 2, "question": "Who is asked to hold it?"})
        replace_version(desk, edited, "curator", "clearer")
    footage = opening.footage_path(workspace, before.episode_id, before.preparation)
    footage.parent.mkdir(exist_ok=True)
    footage.write_bytes(b"footage")
    export = ("review", "export", str(folder), "--to", "label-studio")
    assert "3 items" in psychemme(*export)
    asked = [task["data"] for task in json.loads((folder / "answer.json").read_text())]
    assert [(one["candidate_id"], one["version"]) for one in asked] == [
        ("1-c0", 2),
        ("1-c1", 1),
        ("1-c2", 1),
    ]
    assert asked[0]["question"] == edited.question
    assert asked[0]["video"].endswith(f"videos/{footage.name}")
    assert (folder / "videos" / footage.name).read_bytes() == b"footage"
    assert not (folder / "verdict.json").exists()
    assert "is in use" in psychemme(*export, ends=1)
    both = ("review", "export", str(tmp_path / "both"), "--to", "label-studio")
    assert "verdict.json holds the references" in psychemme(*both, "--with-references")
    assert "Answer: A" in (tmp_path / "both" / "verdict.json").read_text()
    assert "use votes or label-studio" in psychemme(*both[:3], "--to", "other", ends=2)


def test_what_nobody_is_left_for_is_said_with_what_to_do(psychemme: Verb) -> None:
    psychemme("review", "invite", "ada", "--name", "Ada")
    psychemme("review", "open", "--reviewers", "2", "--no-assign", "--count", "1")
    said = psychemme("review", "assign")
    assert "1 assignment added, 1 still wanted" in said
    assert "invite a reviewer" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("review", "open", "--reviewers", "2"), "2 reviewers are needed for each item, 0 can"),
        (("review", "open", "--run", "9"), "There is no run 9"),
        (("review", "discuss", "none"), "There is no set 'none'"),
        (("review", "close", "--set", "[bold]none"), "There is no set '[bold]none'"),
        (("review", "revoke", "nobody"), "There is no reviewer 'nobody'"),
        (("review", "invite", "Not An Id", "--name", "x"), "'Not An Id' is no reviewer id"),
        (("review", "import", "absent.jsonl"), "absent.jsonl cannot be read"),
        (("review", "import", "absent.json"), "absent.json cannot be read"),
        (("freeze", "release", "--name", "lab", "--version", "1.0"), "No item has been approved"),
    ],
)
def test_errors_say_what_to_do(psychemme: Verb, words: tuple[str, ...], said: str) -> None:
    assert said in psychemme(*words, ends=1)


def test_a_file_with_one_wrong_vote_stores_nothing(psychemme: Verb, tmp_path: Path) -> None:
    psychemme("review", "open", "--no-assign")
    file = votes(tmp_path / "votes.jsonl", ("ada",))
    refusal = psychemme("review", "import", file, ends=1)
    assert "c0 version 1 by ada: there is no such reviewer" in refusal
    assert "3 faults" in refusal
    assert all(one["voted"] == 0 for one in table(psychemme, "review", "status"))


def test_votes_of_other_names_are_known_as_reviewers(psychemme: Verb, tmp_path: Path) -> None:
    psychemme("review", "invite", "ada", "--name", "Ada")
    psychemme("review", "open", "--reviewers", "1")
    file = votes(tmp_path / "votes.jsonl", ("ada@example.org",))
    assert "write NAME=REVIEWER" in psychemme(
        *("review", "import", file, "--known-as", "ada"), ends=2
    )
    known = ("--known-as", "ada@example.org=ada")
    assert "3 votes stored" in psychemme("review", "import", file, *known)
    assert {one["stage"] for one in table(psychemme, "review", "status")} == {"complete"}

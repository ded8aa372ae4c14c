"""What holds for every export: no references, the same bytes, whole folders, harmless names."""

import csv
import hashlib
import json
import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import psychemme.cli.export  # noqa: F401 - registers the verb
from construction.exports import FORMATS, export
from psychemme.cli.app import app
from psychemme.errors import MediaError, UserError
from psychemme.items import Cue, KeyPoint, Option
from psychemme.release.rows import ReleaseFacts
from psychemme.release.write import write_release
from psychemme.vocabulary import Format
from tests.support.clips import write_clip
from tests.support.releases import FACTS, make_release, make_rows

PROFILE = "psychemme8"
SECRET = "zq7-canary-of-the-references"
OPEN = f"{SECRET}: she would rather rest"


def files(folder: Path) -> dict[str, bytes]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def with_secrets(row, form, *, moved=False):
    answers = {Format.SINGLE: "CB"[moved], Format.MULTIPLE: ["BD", "AC"][moved], Format.OPEN: OPEN}
    answer = list(answers[form]) if form is Format.MULTIPLE else answers[form]
    return row.model_copy(
        update={
            "answer": answer,
            "cues": (Cue(start=1, end=3 + moved, modality="speech", description=SECRET),),
            "key_points": () if form.is_choice else (KeyPoint(text=SECRET),),
        }
    )


def keyed_release(root: Path, *, moved=False) -> Path:
    questions, episodes, references = make_rows(12)
    forms = {question.id: question.format for question in questions}
    said = ReleaseFacts.model_validate(FACTS | {"profile": PROFILE})
    keyed = [with_secrets(row, forms[row.id], moved=moved) for row in references]
    write_release(root, said, questions, episodes, keyed)
    return root


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    root = tmp_path_factory.mktemp("releases")
    return keyed_release(root / "one"), keyed_release(root / "other", moved=True)


@pytest.fixture(scope="module")
def exported(releases, tmp_path_factory):
    root = tmp_path_factory.mktemp("exported")
    return {
        (to, private): (
            export(releases[0], to, root / f"{to}-{private}", with_references=private),
            root / f"{to}-{private}",
        )
        for to in FORMATS
        for private in (False, True)
    }


@pytest.mark.parametrize("to", FORMATS)
def test_a_public_export_holds_nothing_of_the_references(to, exported):
    public, private = (files(exported[to, flag][1]) for flag in (False, True))
    assert SECRET not in json.dumps([name + text.decode() for name, text in public.items()])
    # The control: with the references asked for, what is planted is found.
    shows_choice = to in ("lmms-eval", "vlmevalkit", "inspect")
    assert shows_choice or SECRET in json.dumps([text.decode() for text in private.values()])
    assert public != private


@pytest.mark.parametrize("to", FORMATS)
def test_a_public_export_is_the_same_whatever_the_references_are(to, releases, exported, tmp_path):
    export(releases[1], to, tmp_path / "out")
    assert files(tmp_path / "out") == files(exported[to, False][1])
    export(releases[1], to, tmp_path / "private", with_references=True)
    assert files(tmp_path / "private") != files(exported[to, True][1])


@pytest.mark.parametrize("to", FORMATS)
def test_the_same_release_gives_the_same_bytes(to, releases, exported, tmp_path):
    export(releases[0], to, tmp_path / "out", with_references=True)
    assert files(tmp_path / "out") == files(exported[to, True][1])


@pytest.mark.parametrize("to", FORMATS)
def test_every_file_carries_the_canary(to, exported):
    for name, text in files(exported[to, False][1]).items():
        if name.endswith(".xml"):
            # A configuration holds nothing of the items.
            continue
        lines = text.decode().splitlines() if name.endswith(".jsonl") else [text.decode()]
        assert all(FACTS["canary"] in line for line in lines), name


def test_what_is_left_out_is_said(exported):
    for to in ("lmms-eval", "vlmevalkit", "inspect"):
        public, private = (" ".join(exported[to, flag][0]) for flag in (False, True))
        assert "scores none" in public
        assert "3 of 12 items are open" in private
        assert "not scored here" in (exported[to, True][1] / "README.md").read_text("utf-8")


def test_the_card_says_what_it_is(exported):
    text = (exported["hf", False][1] / "README.md").read_text("utf-8")
    head = yaml.safe_load(text.split("---\n")[1])
    assert head["size_categories"] == ["n<1K"]
    assert {"license", "task_categories", "configs"} <= head.keys()
    assert [config["config_name"] for config in head["configs"]] == ["questions", "episodes"]
    for said in ("demonstration", "CC0-1.0", "Responsible use", FACTS["canary"], "| G | 1 |"):
        assert said in text
    private = (exported["hf", True][1] / "README.md").read_text("utf-8")
    assert "config_name: references" in private
    assert "keep it private" in private


def test_a_licence_the_hub_does_not_know_is_other(tmp_path):
    release = make_release(
        tmp_path / "release", licence="LicenseRef-Lab", languages=("en", "de"), example=False
    )
    export(release, "hf", tmp_path / "out", date="2026-11-30")
    head = (tmp_path / "out" / "README.md").read_text("utf-8").split("---\n")
    read = yaml.safe_load(head[1])
    assert (read["license"], read["license_name"]) == ("other", "LicenseRef-Lab")
    assert read["language"] == ["en", "de"]
    assert "demonstration" not in head[2]
    croissant = json.loads((tmp_path / "out" / "croissant.json").read_bytes())
    assert croissant["datePublished"] == "2026-11-30"


def test_the_table_for_vlmevalkit_has_its_columns(exported):
    table = exported["vlmevalkit", True][1] / "psychemme_synthetic.tsv"
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert {"index", "video", "video_path", "question", "candidates", "A", "answer"} <= set(rows[0])
    assert [int(row["index"]) for row in rows] == list(range(12))
    assert [row["answer"] for row in rows[:3]] == ["C", "BD", ""]
    assert "\n" in rows[0]["prompt"]
    public = exported["vlmevalkit", False][1] / "psychemme_synthetic.tsv"
    with public.open(encoding="utf-8", newline="") as file:
        assert "answer" not in next(csv.reader(file, delimiter="\t"))


def test_no_text_ends_a_row_of_the_table_for_vlmevalkit(tmp_path):
    questions, episodes, references = make_rows(3)
    texts = [o.model_copy(update={"text": f'{o.id}\r"\t\n='}) for o in questions[0].options]
    questions[0] = questions[0].model_copy(update={"question": "a\rb\tc", "options": tuple(texts)})
    facts = ReleaseFacts.model_validate(FACTS)
    write_release(tmp_path / "release", facts, questions, episodes, references)
    export(tmp_path / "release", "vlmevalkit", tmp_path / "out")
    with (tmp_path / "out" / "psychemme_synthetic.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [row["item_id"] for row in rows] == [row.id for row in questions]
    assert (rows[0]["question"], rows[0]["B"]) == ("a\rb\tc", texts[1].text)


def hostile_release(root: Path) -> Path:
    questions, episodes, references = make_rows(3)
    episode = episodes[0].model_copy(
        update={"id": "../../up", "source": "<script>|x\n# y", "consent": "`a` | [b](c)"}
    )
    text = '<b>{{ bad }}</b> "quoted"\u2028\ttab\r\n{"answer": "A"} !function os.system'
    asked = [
        question.model_copy(
            update={
                "episode_id": episode.id,
                "question": text,
                "options": tuple(
                    Option(id=o.id, text=f"{o.text} {text}") for o in question.options
                ),
                "facets": {"\u00e9": text},
            }
        )
        for question in questions
    ]
    facts = FACTS | {"name": '"""\nimport os # <i>', "profile": PROFILE}
    write_release(root, ReleaseFacts.model_validate(facts), asked, [episode], references)
    return root


@pytest.mark.parametrize("to", FORMATS)
def test_hostile_texts_stay_texts(to, tmp_path):
    release = hostile_release(tmp_path / "release")
    out = tmp_path / "in" / "out"
    export(release, to, out, with_references=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "release"]
    for name, data in files(out).items():
        if name.endswith(".py"):
            compile(data, name, "exec")
            assert re.search(rb"(def|class) psychemme_import_os_i|doc_to_text", data)
        if name.endswith("README.md"):
            body = data.decode().rsplit("---\n\n", 1)[-1]
            assert "<script>" not in body
            assert "&lt;script&gt;\\|x \\# y" in body or to != "hf"
        if name.endswith(".yaml"):
            assert (
                yaml.safe_load(data.replace(b"!function ", b""))["task"] == "psychemme_import_os_i"
            )
        if name.endswith("windows.jsonl"):
            video = json.loads(data)["video"]
            assert re.fullmatch(r"videos/[0-9a-f]{32}\.mp4", video)


def test_a_folder_in_use_and_an_unknown_format_are_refused(releases, tmp_path):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(UserError, match="in use"):
        export(releases[0], "hf", tmp_path)
    with pytest.raises(UserError, match="lmms-eval"):
        export(releases[0], "parquet", tmp_path / "out")
    with pytest.raises(UserError, match="YYYY-MM-DD"):
        export(releases[0], "hf", tmp_path / "out", date="today")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_windows_are_cut_beside_the_export(tmp_path):
    (tmp_path / "clips").mkdir()
    clip = write_clip(tmp_path / "clips" / "walk.mp4")
    sha256 = hashlib.sha256(clip.read_bytes()).hexdigest()
    release = make_release(tmp_path / "release", 3, clip="walk.mp4", sha256=sha256)
    done = []
    for name in ("one", "two"):
        export(
            release,
            "inspect",
            tmp_path / name,
            media=clip.parent,
            report=lambda *each: done.append(each),
        )
    assert done == [(1, 1), (1, 1)]
    video = files(tmp_path / "one")["videos/e0000.mp4"]
    assert video[4:8] == b"ftyp"
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert "No videos" not in (tmp_path / "one" / "README.md").read_text("utf-8")


def test_clips_of_other_bytes_leave_no_export(releases, tmp_path):
    (tmp_path / "none.mp4").write_bytes(b"other")
    with pytest.raises(MediaError, match=r"e0000: 'none\.mp4' has other bytes"):
        export(releases[0], "hf", tmp_path / "out", media=tmp_path)
    assert not (tmp_path / "out").exists()


def test_the_verb_says_what_it_wrote(releases, tmp_path):
    words = ["export", str(releases[0]), "--to", "inspect", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert "inspect" in done.output
    assert "No references" in done.output
    assert "task.py" in files(tmp_path / "out")

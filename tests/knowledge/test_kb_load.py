import re
import shutil
from pathlib import Path

import pytest
import yaml

from psychemme.errors import ConfigError
from psychemme.vocabulary import Capability, Format
from psychology_kb.cards import Norm, Subcategory
from psychology_kb.load import load_profile, load_review, profiles, read_review, read_taxonomy
from psychology_kb.schema import SCHEMAS, schema_text, write_schemas

PROFILE = "psychemme8"
FOLDER = Path(__file__).resolve().parents[2] / "psychology_kb"


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(FOLDER / PROFILE, tmp_path / PROFILE))


def rewrite(path, change):
    raw = yaml.safe_load(path.read_text("utf-8"))
    change(raw)
    path.write_text(yaml.safe_dump(raw, allow_unicode=True), "utf-8")


def test_the_profile_holds_the_eight_capabilities_in_their_domains():
    kb = load_profile(PROFILE)
    assert "".join(card.code.value for card in kb.capabilities) == "GWNTSAMR"
    domains = [card.domain for card in kb.capabilities]
    assert domains == ["mentalizing"] * 3 + ["responding"] * 3 + ["modulation"] * 2
    assert all(4 <= len(card.subcategories) <= 5 for card in kb.capabilities)
    assert "clinical advice" in kb.title


def test_cards_say_what_a_question_needs():
    kb = load_profile(PROFILE)
    timed = {card.code.value for card in kb.capabilities if card.decision_time}
    assert timed == {"T", "S", "A"}
    assert {card.code.value for card in kb.capabilities if card.needs_history} == {"M"}
    assert kb.card(Capability.TIMING).formats == (Format.SINGLE,)


def test_the_distinctions_cover_every_capability():
    kb = load_profile(PROFILE)
    assert {code for item in kb.distinctions for code in item.judgments} == set(Capability)
    assert {"performed_or_next", "refusal_over_memory"} <= {item.id for item in kb.distinctions}


def test_the_hash_follows_the_content(folder):
    kb = load_profile(PROFILE)
    assert kb.hash == read_taxonomy(folder).hash
    rewrite(folder / "taxonomy.yaml", lambda raw: raw.update(version="9"))
    assert kb.hash != read_taxonomy(folder).hash


@pytest.mark.parametrize("profile_id", ["", "nobody", "../psychology_kb/psychemme8", "*"])
@pytest.mark.parametrize("load", [load_profile, load_review])
def test_an_unknown_profile_names_the_known_ones(load, profile_id):
    assert profiles() == (PROFILE,)
    with pytest.raises(ConfigError, match=PROFILE):
        load(profile_id)


def test_all_faults_of_a_file_are_named_at_once(folder):
    def spoil(raw):
        raw["surprise"] = 1
        raw["capabilities"][0]["sources"] = ["nobody1900"]
        raw["capabilities"][1]["domain"] = "nowhere"
        raw["norms"][0]["applies_to"] = ["Q"]
        raw["norms"][1]["subcategories"] = ["no_such_kind"]
        raw["distinctions"][0]["judgments"]["X"] = "none"

    rewrite(folder / "taxonomy.yaml", spoil)
    with pytest.raises(ConfigError) as caught:
        read_taxonomy(folder)
    for fault in ("surprise", "nobody1900", "nowhere", "applies_to.0", "no_such_kind", "X"):
        assert fault in caught.value.problem


def test_ids_given_twice_and_subcategories_of_others_are_refused(folder):
    def spoil(raw):
        raw["norms"][1]["id"] = raw["norms"][0]["id"]
        raw["norms"][2]["subcategories"] = ["affect"]

    rewrite(folder / "taxonomy.yaml", spoil)
    with pytest.raises(ConfigError, match=r"'refusal_s' is given twice.*'affect' of W"):
        read_taxonomy(folder)


def test_a_missing_card_is_named(folder):
    rewrite(folder / "taxonomy.yaml", lambda raw: raw["capabilities"].pop(2))
    with pytest.raises(ConfigError, match="'N' is used but has no card"):
        read_taxonomy(folder)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "7", "id: a\nid: b\n", "{: ", "!!python/object:os.system {}", "\x00", "a: *b"],
)
def test_a_file_that_is_no_taxonomy_is_refused(folder, text):
    (folder / "taxonomy.yaml").write_text(text, "utf-8")
    with pytest.raises(ConfigError):
        read_taxonomy(folder)


def test_a_missing_or_repeating_bibliography_is_refused(folder):
    bib = folder / "references.bib"
    bib.write_text(bib.read_text("utf-8") + "\n@book{hall1966,\n}\n", "utf-8")
    with pytest.raises(ConfigError, match="hall1966: key is given twice"):
        read_taxonomy(folder)
    bib.unlink()
    with pytest.raises(ConfigError, match=r"references\.bib"):
        read_review(folder)


def test_a_folder_of_another_name_is_refused(folder, tmp_path):
    with pytest.raises(ConfigError, match="not the folder's name"):
        read_taxonomy(folder.rename(tmp_path / "other"))


def test_every_reference_is_cited_and_dated():
    text = (FOLDER / PROFILE / "references.bib").read_text("utf-8")
    keys = re.findall(r"@\w+\{(\w+),", text)
    used = (FOLDER / PROFILE / "taxonomy.yaml").read_text("utf-8")
    assert [key for key in keys if key not in used] == []
    for key, year in zip(keys, re.findall(r"year\s+= \{(\d{4})\}", text), strict=True):
        assert key.removesuffix("psychemme").endswith(year)


def test_the_review_form_asks_for_three_verdicts():
    form = load_review(PROFILE)
    asked = [verdict.id for verdict in form.verdicts]
    assert asked == ["question_validity", "answer_correctness", "psychological_consistency"]


def test_a_review_reason_given_twice_is_refused(folder):
    def spoil(raw):
        raw["skip_reasons"].append(raw["skip_reasons"][0])

    rewrite(folder / "review.yaml", spoil)
    with pytest.raises(ConfigError, match="'cannot_play' is given twice"):
        read_review(folder)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_files_are_current(name, tmp_path):
    assert (FOLDER / name).read_text("utf-8") == schema_text(name)
    write_schemas(tmp_path)
    assert (tmp_path / name).read_text("utf-8") == schema_text(name)


def test_values_can_be_made_without_a_file():
    norm = load_profile(PROFILE).norms[0]
    assert Norm.model_validate(norm.model_dump()) == norm
    assert Subcategory(id="a", name="b", definition="c").id == "a"

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import psychemme.cli.agreement  # noqa: F401
from construction.review.agreement import agreement
from construction.review.agreement_views import TABLE_COLUMNS, agreement_json, agreement_table
from construction.review.coefficients import Undefined
from construction.review.ratings import Dimension, Kind, Rating, read_ratings_file
from psychemme.cli.app import app
from psychemme.errors import UserError
from psychemme.vocabulary import Verdict


def verdict(item, reviewer, value="approve", capability="G", dimension=Dimension.OVERALL):
    return Rating(
        item=item, reviewer=reviewer, dimension=dimension, capability=capability, value=value
    )


def blind(item, reviewer, value, capability="G"):
    return verdict(item, reviewer, value, capability, Dimension.BLIND_ANSWER)


def row(report, dimension=Dimension.OVERALL, capability="all", kind=None):
    (found,) = (
        one
        for one in report.rows
        if (one.dimension, one.capability) == (dimension, capability) and kind in (None, one.kind)
    )
    return found


def krippendorffs_observers():
    """Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example A, as verdicts."""
    votes = {"jon": "0100000010", "han": "1110010000"}
    return [
        verdict(f"u{item}", reviewer, "reject" if vote == "1" else "approve")
        for reviewer, given in votes.items()
        for item, vote in enumerate(given)
    ]


def test_a_published_example_from_votes_to_report():
    found = row(agreement(krippendorffs_observers()))
    assert found.alpha == pytest.approx(2 / 21, abs=1e-12)
    assert (found.raw, found.unanimous) == (0.6, 0.6)
    assert (found.n_items, found.n_paired, found.n_reviewers, found.n_ratings) == (10, 10, 2, 20)
    chance = 2 * 0.7 * 0.3
    assert found.ac1 == pytest.approx((0.6 - chance) / (1 - chance), abs=1e-12)
    assert found.alpha_interval.low < found.alpha < found.alpha_interval.high
    assert found.masi is None


def test_every_verdict_is_a_dimension():
    assert set(Verdict) < set(Dimension)


def test_unanimous_votes_have_a_named_reason_in_place_of_alpha():
    report = agreement([verdict(f"i{i}", f"r{r}") for i in range(40) for r in range(5)])
    found = row(report)
    assert found.alpha is Undefined.NO_VARIATION
    assert found.alpha_interval is None
    assert (found.raw, found.unanimous, found.ac1) == (1, 1, 1)
    shown = agreement_json(report)
    (overall,) = (
        one for one in shown["rows"] if (one["dimension"], one["capability"]) == ("overall", "G")
    )
    assert overall["alpha"] == {
        "value": None,
        "reason": "no_variation",
        "low": None,
        "high": None,
        "excluded": None,
    }
    assert shown["reasons"]["no_variation"].startswith("every rating is the same")


def test_dimensions_that_nobody_rated_and_items_rated_once_say_so():
    report = agreement([verdict("i1", "r1"), verdict("i2", "r2")])
    assert row(report).raw is Undefined.FEWER_THAN_TWO_RATERS
    assert row(report, Dimension.QUESTION_VALIDITY).raw is Undefined.NO_ITEMS
    for kind in (Kind.OPTION, Kind.OPTION_SET):
        assert row(report, Dimension.BLIND_ANSWER, kind=kind).ac1 is Undefined.NO_ITEMS


def test_ac1_counts_the_options_that_were_offered_and_not_those_chosen():
    """Three items of four options, two reviewers, worked by hand."""
    given = [("i1", "A", "A"), ("i2", "A", "A"), ("i3", "A", "B")]
    answers = [
        blind(item, name, value).model_copy(update={"options": 4})
        for item, *values in given
        for name, value in zip("ab", values, strict=True)
    ]
    # Shares of A, B, C, D: 5/6, 1/6, 0, 0. p_e = (5/36 + 5/36) / 3 = 5/54; p_a = 2/3.
    found = row(agreement(answers), Dimension.BLIND_ANSWER, kind=Kind.OPTION)
    assert found.ac1 == pytest.approx((2 / 3 - 5 / 54) / (1 - 5 / 54), abs=1e-12)
    alike = [one.model_copy(update={"value": "A"}) for one in answers]
    assert row(agreement(alike), Dimension.BLIND_ANSWER, kind=Kind.OPTION).ac1 == 1
    untold = [*answers[1:], blind("i1", "a", "A").model_copy(update={"item": "i4"})]
    found = row(agreement(untold), Dimension.BLIND_ANSWER, kind=Kind.OPTION)
    assert found.ac1 is Undefined.OPTIONS_UNTOLD
    with pytest.raises(UserError, match="two numbers of options"):
        agreement([answers[0], blind("i1", "b", "A")])


def test_ac1_of_sets_counts_the_sets_that_could_have_been_chosen():
    """One item of three options: seven sets. Shares 1/2, 1/2; p_e = (1/4 + 1/4) / 6; p_a = 0."""
    answers = [blind("i", "a", ("A", "B")), blind("i", "b", ("A", "C"))]
    answers = [one.model_copy(update={"options": 3}) for one in answers]
    found = row(agreement(answers), Dimension.BLIND_ANSWER, kind=Kind.OPTION_SET)
    assert found.ac1 == pytest.approx((0 - 1 / 12) / (1 - 1 / 12), abs=1e-12)


def test_skips_are_absent_and_items_weigh_equally():
    votes = [verdict("i1", f"r{r}", "reject" if r else "approve") for r in range(2)]
    votes += [verdict("i2", f"r{r}") for r in range(5)] + [verdict("i3", "r0", "reject")]
    found = row(agreement(votes))
    assert (found.n_items, found.n_paired, found.n_ratings) == (3, 2, 8)
    assert (found.raw, found.unanimous) == (0.5, 0.5)


def test_rows_come_by_dimension_then_all_then_the_capabilities_in_order():
    votes = [verdict(f"{c}{r}", r, capability=c) for c in "RGMWx" for r in ("a", "b")]
    report = agreement(votes)
    assert [one.capability for one in report.rows if one.dimension is Dimension.OVERALL] == [
        "all",
        *"GWMRx",
    ]
    assert list(dict.fromkeys(one.dimension for one in report.rows)) == list(Dimension)


def test_options_and_sets_are_never_pooled():
    answers = [blind("s1", "a", "A"), blind("s1", "b", "A"), blind("s2", "a", "B")]
    answers += [blind("s2", "b", "B"), blind("m1", "a", ("A", "B")), blind("m1", "b", ["C", "A"])]
    answers += [blind("m2", "a", ("D",)), blind("m2", "b", ("D",))]
    report = agreement(answers)
    letters = row(report, Dimension.BLIND_ANSWER, kind=Kind.OPTION)
    sets = row(report, Dimension.BLIND_ANSWER, kind=Kind.OPTION_SET)
    assert (letters.n_items, letters.alpha, letters.masi) == (2, 1, None)
    assert (sets.n_items, sets.raw) == (2, 0.5)
    # Two items: 1 - 1/3 * 1/3 apart, and the same.
    assert sets.masi == pytest.approx(8 / 9 / 2, abs=1e-12)
    # Observed 2 * 8/9 over 4 ratings; of 12 ordered pairs 2 are 8/9 apart, 8 are 1 apart.
    assert sets.alpha == pytest.approx(1 - (2 * 8 / 9 / 4) / ((2 * 8 / 9 + 8) / 12), abs=1e-12)


VOTES = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 4), st.sampled_from(("approve", "reject"))),
    unique_by=lambda vote: vote[:2],
)


@settings(deadline=None)
@given(VOTES, st.permutations(range(5)), st.randoms(use_true_random=False))
def test_neither_the_order_of_votes_nor_who_is_called_what_matters(votes, names, random):
    expected = agreement([verdict(f"i{i}", f"r{r}", value) for i, r, value in votes], draws=50)
    random.shuffle(votes)
    renamed = [verdict(f"i{i}", f"r{names[r]}", value) for i, r, value in votes]
    assert agreement(renamed, draws=50) == expected


def test_intervals_are_reproducible_and_follow_the_seed():
    votes = krippendorffs_observers()
    assert agreement(votes) == agreement(reversed(votes))
    one, other = (row(agreement(votes, draws=200, seed=seed)) for seed in (1, 2))
    assert one.alpha_interval != other.alpha_interval
    assert one.alpha == other.alpha


@pytest.mark.parametrize(
    ("extra", "fault"),
    [
        (verdict("i1", "r1", "reject"), "twice"),
        (verdict("i1", "r2", capability="W"), "two capabilities"),
        (blind("b1", "r2", ("A", "B")), "a list of options"),
    ],
)
def test_contradicting_ratings_are_refused(extra, fault, tmp_path):
    ratings = [verdict("i1", "r1"), blind("b1", "r1", "A"), extra]
    with pytest.raises(UserError, match=fault):
        agreement(ratings)
    file = tmp_path / "votes.jsonl"
    file.write_text("\n\n".join(one.model_dump_json() for one in ratings))
    with pytest.raises(UserError, match=rf"votes\.jsonl:5: .*{fault}"):
        read_ratings_file(file)


LINE = {"item": "i", "reviewer": "r", "dimension": "overall", "capability": "G", "value": "approve"}


def test_a_file_reads_back_with_sets_sorted_and_other_keys_ignored(tmp_path):
    file = tmp_path / "votes.jsonl"
    answer = LINE | {"dimension": "blind_answer", "value": ["C", "A", "C"], "comment": "hm"}
    file.write_text(f"{json.dumps(LINE)}\n{json.dumps(answer)}\n")
    assert read_ratings_file(file) == [verdict("i", "r"), blind("i", "r", ("A", "C"))]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"dimension": "mood"}, "dimension"),
        ({"value": "maybe"}, "value"),
        ({"value": ["approve"]}, "value"),
        ({"value": None}, "value"),
        ({"dimension": "blind_answer", "value": "AB"}, "value"),
        ({"dimension": "blind_answer", "value": "a"}, "value"),
        ({"dimension": "blind_answer", "value": []}, "value"),
        ({"dimension": "blind_answer", "value": ["A", "BC"]}, "value"),
        ({"capability": "all"}, "capability"),
        ({"capability": ""}, "capability"),
        ({"item": 3}, "item"),
        ({"options": "4"}, "options"),
        ({"dimension": "blind_answer", "value": "D", "options": 3}, "options"),
    ],
)
def test_a_bad_line_is_named_with_its_field(change, field, tmp_path):
    file = tmp_path / "votes.jsonl"
    file.write_text(f"{json.dumps(LINE)}\n{json.dumps(LINE | {'item': 'j'} | change)}\n")
    with pytest.raises(UserError, match=rf"votes\.jsonl:2: {field}: "):
        read_ratings_file(file)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"item": "i", "item": "j"}',
        '{"item": "\\ud800"}',
        "[1]",
        "3",
        '{"item": NaN',
        "[" * 100_000,
        '{"item": "i"}',
    ],
)
def test_what_is_no_rating_is_named_by_its_line(text, tmp_path):
    file = tmp_path / "votes.jsonl"
    file.write_text(f"\n{text}\n")
    with pytest.raises(UserError, match=r"votes\.jsonl:2"):
        read_ratings_file(file)


@pytest.mark.parametrize("content", [None, b"", b"\n\n", b"\xff\xfe"])
def test_a_file_without_ratings_is_refused(content, tmp_path):
    file = tmp_path / "votes.jsonl"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UserError, match=r"votes\.jsonl"):
        read_ratings_file(file)


def test_the_table_shows_figures_and_why_there_are_none():
    votes = krippendorffs_observers() + [verdict("w", r, capability="W") for r in ("jon", "han")]
    table = agreement_table(agreement(votes))
    shown = {(one[0], one[1]): dict(zip(TABLE_COLUMNS, one, strict=True)) for one in table}
    assert shown["overall", "G"]["alpha"] == "0.10"
    assert shown["overall", "G"]["95%"].startswith("[")
    assert shown["overall", "G"]["MASI"] == ""
    assert shown["overall", "W"]["alpha"] == "–"
    assert shown["overall", "W"]["95%"] == "no_variation"
    assert shown["blind answer (letter)", "all"]["raw"] == "–"


def test_the_verb_prints_tables_or_json_and_no_markup_of_others(tmp_path):
    file = tmp_path / "votes.jsonl"
    hostile = [verdict("h", r, capability="[red]\x1b[1mG") for r in ("a", "b")]
    lines = [one.model_dump_json() for one in krippendorffs_observers() + hostile]
    file.write_text("\n".join(lines))
    printed = CliRunner().invoke(app, ["agreement", "--file", str(file)])
    assert printed.exit_code == 0, printed.output
    assert "[red]" in printed.output
    assert "\x1b" not in printed.output
    assert "no_variation: every rating" in printed.output
    shown = json.loads(CliRunner().invoke(app, ["agreement", "--file", str(file), "--json"]).output)
    assert shown == agreement_json(agreement(read_ratings_file(file)))
    assert shown["unit"] == "fraction"
    assert shown["items"] == {"rated": 11, "replaced_versions": 0}
    lines[0] = json.dumps(json.loads(lines[0]) | {"replaced": True})
    file.write_text("\n".join(lines))
    again = CliRunner().invoke(app, ["agreement", "--file", str(file)]).output
    assert "1 of 11 items rated are versions replaced by an edit" in again


@pytest.mark.slow
def test_a_thousand_items_a_capability_take_seconds():
    votes = [
        verdict(f"{capability}{i}", f"r{r}", "reject" if (i * r) % 7 == 1 else "approve")
        for capability in "GWNTSAMR"
        for i in range(1000)
        for r in range(5)
    ]
    votes = [
        one.model_copy(update={"dimension": dimension, "capability": one.item[0]})
        for dimension in [*Dimension][1:]
        for one in votes
    ]
    start = time.perf_counter()
    report = agreement(votes)
    assert time.perf_counter() - start < 20
    assert row(report).alpha_interval is not None

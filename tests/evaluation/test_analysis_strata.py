import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.analyses.strata import MOST_STRATA, analyse, length_quarters, minutes_band
from tests.support.studies import FAILED, Item, Said, rows_of, study_of

WEAK = Said(support="weak", logic="acceptable")  # v = 0.5556
EPISODES = {
    "e1": {"duration": 30.0, "source": "Vlog", "source_group": "tube"},
    "e2": {"duration": 60.0, "source": "Talk", "source_group": "tube"},
    "e3": {"duration": 60.001, "source": "Talk", "source_group": "=cmd|' /C calc'!A0"},
}
QUESTIONS = {
    "q1": {"question": "Why now?", "facets": {"age": "adult"}},
    "q2": {"question": "What does she need?", "facets": {"age": "child"}},
    "q3": {"question": "What does she need?"},
    "q4": {"question": "Who of the two people is ready to leave first?"},
}


@pytest.fixture(scope="module")
def found():
    rows = [
        ("q1", "e1", "T", "single", Said(), FAILED),
        ("q2", "e1", "G", "single", WEAK, FAILED),
        ("q3", "e2", "G", "open", Said(a=0.5), FAILED),
        ("q4", "e3", "G", "single", Said("B"), FAILED),
    ]
    items = [Item(*row[:4], "A", {"m": row[4], "failing": row[5]}) for row in rows]
    return analyse(study_of(items, episodes=EPISODES, questions=QUESTIONS))


def of_run(found, table, run="m"):
    return {
        row["stratum"]: (row["n"], row["episodes"], row["Raw"] and row["Raw"].point)
        for row in rows_of(found, table)
        if row["run"] in (run, None)
    }


def test_strata_are_micro(found):
    assert of_run(found, "strata-format") == {
        "single": (3, 2, pytest.approx(2 / 3)),
        "multiple": (0, 0, None),
        "open": (1, 1, 0.5),
    }
    row = rows_of(found, "strata-format")[0]
    assert row["Verified"].point == pytest.approx((1 + 0.8 / 1.44) / 3)
    assert of_run(found, "strata-format", "failing")["single"] == (3, 2, 0)
    mean = of_run(found, "strata-format", "mean over runs")["single"]
    assert mean == (3, 2, pytest.approx(1 / 3))


def test_an_empty_stratum_is_a_row_without_figures(found):
    row = next(row for row in rows_of(found, "strata-format") if row["stratum"] == "multiple")
    assert [row[name] for name in ("n", "run", "Raw", "Verified")] == [0, None, None, None]


def test_durations_are_cut_at_30_and_60_seconds_inclusive(found):
    assert of_run(found, "strata-duration") == {
        "<=30 s": (2, 1, 1),
        "30-60 s": (1, 1, 0.5),
        ">60 s": (1, 1, 0),
    }
    assert of_run(found, "strata-minutes")["[0, 10) min"] == (4, 3, pytest.approx(2.5 / 4))
    bands = [minutes_band(minutes * 60) for minutes in (9.999, 10, 19.999, 20)]
    assert [band.split()[0] for band in bands] == ["[0,", "[10,", "[10,", "20+"]


def test_facets_of_items_and_episodes(found):
    assert {name: n for name, (n, _, _) in of_run(found, "strata-source").items()} == {
        "Talk": 2,
        "Vlog": 2,
    }
    assert set(of_run(found, "strata-source-group")) == {"tube", "=cmd|' /C calc'!A0"}
    assert set(of_run(found, "strata-subcategory")) == {"G: any", "T: any"}
    assert of_run(found, "strata-facets") == {"age: adult": (1, 1, 1), "age: child": (1, 1, 1)}


def test_question_lengths_are_quartered_with_ties_together(found):
    # 2, 4, 4 and 9 words: quartiles 3.5, 4 and 5.25.
    assert {name: n for name, (n, _, _) in of_run(found, "strata-question-length").items()} == {
        "1st quarter: up to 3 words": 1,
        "2nd quarter: over 3, up to 4 words": 2,
        "3rd quarter: over 4, up to 5 words": 0,
        "4th quarter: over 5 words": 1,
    }


@given(st.lists(st.integers(0, 60), min_size=1))
def test_every_length_is_in_the_quarter_that_names_it(lengths):
    names, of = length_quarters(lengths)
    assert len(set(names)) == 4
    by_length = {}
    for length, name in zip(lengths, of, strict=True):
        assert by_length.setdefault(length, name) == name
    assert [by_length[length] for length in sorted(by_length)] == sorted(by_length.values())


def test_a_stratum_of_one_episode_has_an_interval_of_its_point(found):
    cell = next(row["Raw"] for row in rows_of(found, "strata-duration") if row["n"] == 2)
    assert (cell.point, cell.low, cell.high, cell.excluded) == (1, 1, 1, 0)


def test_a_facet_with_too_many_strata_is_left_out_and_named():
    names = [f"q{n:02}" for n in range(MOST_STRATA + 1)]
    items = [Item(name, "e1", "T", "single", "A", {"m": Said()}) for name in names]
    questions = {name: {"subcategory": name} for name in names}
    found = analyse(study_of(items, questions=questions, draws=5))
    assert "strata-subcategory" not in [table.name for table in found.tables]
    assert f"Left out: subcategory, in {len(names)} strata, more than {MOST_STRATA}." in found.notes


def test_facets_of_items_that_are_left_out_are_told_apart():
    names = [f"q{n:02}" for n in range(MOST_STRATA + 1)]
    items = [Item(name, "e1", "T", "single", "A", {"m": Said()}) for name in names]
    questions = {name: {"facets": {"scene": name, "age": "adult"}} for name in names}
    found = analyse(study_of(items, questions=questions, draws=5))
    assert set(of_run(found, "strata-facets")) == {"age: adult"}
    assert any("facet scene" in note for note in found.notes)


def test_the_subcategories_of_eight_capabilities_are_few_enough():
    items = [
        Item(f"q{n:02}", "e1", "GWNTSAMR"[n % 8], "single", "A", {"m": Said()}) for n in range(40)
    ]
    questions = {one.id: {"subcategory": f"kind {n // 8}"} for n, one in enumerate(items)}
    found = analyse(study_of(items, questions=questions, draws=5))
    assert len(of_run(found, "strata-subcategory")) == 40

"""Voting: expected credit with ties, oracle coverage, the best single run, shared wrong options."""

import pytest

from evaluation.analyses.values import NotApplicable
from evaluation.analyses.voting import analyse
from evaluation.inputs import InputPolicy
from evaluation.report.formats import text
from evaluation.scoring import ScoringError
from tests.support.studies import FAILED, Item, Said, study_of

RUNS = tuple(f"m{n}" for n in range(8))


def single(name, votes, capability="T", reference="A", form="single"):
    """An item with a vote of each run, `-` for none."""
    said = {
        run: FAILED if vote == "-" else Said(vote) for run, vote in zip(RUNS, votes, strict=False)
    }
    return Item(name, f"e-{name}", capability, form, reference, said)


def rows(analysis, table):
    (found,) = [one for one in analysis.tables if one.name == table]
    return {row[0]: row[1:] for row in found.rows} if table == "voting-accuracy" else found.rows


def test_the_published_counts_of_eight_models_on_72_items():
    # 41.5 expected: 39 won outright and 5 ties of two. The oracle adds 22 right minorities: 66; on
    # 6 nobody is right. The first run is right on those won, the ties and 4 minorities: 48.
    won = [single(f"a{n:02}", "AAAAABBC") for n in range(39)]
    ties = [single(f"b{n:02}", "AAABBBCD") for n in range(5)]
    small = [single(f"c{n:02}", "ABBBBCCD") for n in range(4)]
    large = [single(f"d{n:02}", "BBBBBBA-") for n in range(18)]
    nobody = [single(f"e{n:02}", "BBBBBCDD" if n < 3 else "BBBCCCDD") for n in range(6)]
    analysis = analyse(study_of([*won, *ties, *small, *large, *nobody]))
    found = rows(analysis, "voting-accuracy")["T Timing"]
    n, oracle, plurality, best, name, difference, anew, apart = found
    assert n == 72
    assert plurality.point == pytest.approx(41.5 / 72)
    assert [text(cell).split()[0] for cell in (plurality, oracle, best)] == ["57.6", "91.7", "66.7"]
    assert name == "m0"
    assert difference.point == anew.point == pytest.approx((41.5 - 48) / 72)
    assert apart.point == best.point  # Far ahead without any episode.
    assert difference.low <= difference.point <= difference.high
    shared = {row[1]: (row[2], row[4]) for row in rows(analysis, "voting-shared")[7:]}
    assert all(row[0] == "T Timing" for row in rows(analysis, "voting-shared")[7:])
    # Five or more share B on the 18 and on 3 where nobody is right; the paper has these two counts.
    assert shared[5] == (21, 18)
    # Two or more do everywhere; on ties and where they are outvoted the right ones are no minority.
    assert shared[2] == (72, 22)
    assert (shared[6], shared[7]) == ((18, 18), (0, 0))


@pytest.mark.parametrize(
    ("votes", "credit"),
    [
        ("AAB", 1),
        ("ABB", 0),
        ("ABC", 1 / 3),
        ("AB-", 1 / 2),
        ("B--", 0),
        ("A--", 1),
        ("---", 0),
        ("BBB", 0),
    ],
)
def test_ties_are_shared_and_failures_abstain(votes, credit):
    found = rows(analyse(study_of([single("q1", votes)])), "voting-accuracy")
    assert found["All (micro)"][2].point == pytest.approx(credit)
    assert found["All (micro)"][0] == 1


def test_a_vote_is_the_complete_set_of_options():
    # AB, AB, AC, ABC for the reference AB: two of four, and no half credit for a part of it.
    item = single("q1", ("BA", "AB", "AC", "ABC"), reference="AB", form="multiple")
    found = rows(analyse(study_of([item])), "voting-accuracy")["All (micro)"]
    assert [cell.point for cell in found[1:4]] == [1, 1, 1]
    assert found[4] == "tie: m0, m1"
    # On a single choice two options are a wrong vote of their own, shared by those who gave both.
    item = single("q1", (["A", "B"], ["B", "A"], "A"))
    found = analyse(study_of([item]))
    assert rows(found, "voting-accuracy")["All (micro)"][2].point == 0
    assert rows(found, "voting-shared")[0][:3] == ("All (micro)", 2, 1)
    assert rows(found, "voting-shared")[0][4] == 1


def test_macro_weighs_capabilities_and_open_items_do_not_vote():
    items = [
        single("q1", "AAB", "T"),
        single("q2", "AAB", "T"),
        single("q3", "BBA", "G"),
        Item("q4", "e-q4", "G", "open", "a text", {run: Said("a text") for run in RUNS[:3]}),
    ]
    found = rows(analyse(study_of(items)), "voting-accuracy")
    # Plurality: T 2 of 2, G 0 of 1; macro 1/2, micro 2/3. Oracle: all. Best: m0 and m1 in T and
    # over all items (2 of 3), m2 in G; macro all have 1/2.
    assert found["All (macro)"][2].point == pytest.approx(1 / 2)
    assert found["All (micro)"][0] == found["All (macro)"][0] == 3
    assert found["All (micro)"][1].point == found["All (macro)"][1].point == 1
    assert found["All (micro)"][2].point == pytest.approx(2 / 3)
    assert found["All (micro)"][4] == "tie: m0, m1"
    assert found["All (macro)"][4] == "tie: m0, m1, m2"
    assert (found["G Grounding"][4], found["G Grounding"][5].point) == ("m2", -1)


def test_a_capability_without_a_choice_item_has_no_figure():
    study = study_of([single("q1", "AAB", "T")], declared=("G", "T"))
    found = rows(analyse(study), "voting-accuracy")
    assert found["G Grounding"][0] == 0
    assert found["G Grounding"][1].point is None
    assert found["G Grounding"][4] is None
    assert found["All (macro)"][1].point is None
    assert found["All (micro)"][1].point == 1


def test_who_cannot_vote_together_is_named():
    items = [single("q1", "AAB")]
    none = InputPolicy(condition="asr-only")
    with pytest.raises(NotApplicable, match=r"2 conditions: asr-only, full"):
        analyse(study_of(items, runs={"m1": {"policy": none}}))
    with pytest.raises(NotApplicable, match="x has several runs"):
        analyse(study_of(items, runs={"m1": {"model": "x"}, "m2": {"model": "x"}}))
    with pytest.raises(NotApplicable, match="Fewer than two"):
        analyse(study_of([single("q1", "A")]))
    with pytest.raises(NotApplicable, match="No item is a choice"):
        analyse(study_of([Item("q", "e", "G", "open", "t", {r: Said("t") for r in RUNS[:2]})]))
    with pytest.raises(ScoringError, match="differ in 1 items"):
        analyse(study_of([*items, single("q2", "AA")]))
    unjudged = Said("A", support=None)
    said = {"m0": unjudged, "m1": Said()}
    assert analyse(study_of([Item("q", "e", "G", "single", "A", said)])).tables


def test_the_best_single_is_chosen_on_other_episodes_too():
    # m0 is right on q1 and q2, m1 on q3 and q4: without the episode of an item that it has right,
    # each has one and the other two. What is chosen on the others is wrong everywhere.
    items = [single("q1", "AB"), single("q2", "AB"), single("q3", "BA"), single("q4", "BA")]
    found = rows(analyse(study_of(items)), "voting-accuracy")
    for place in ("All (macro)", "All (micro)", "T Timing"):
        assert (found[place][3].point, found[place][7].point) == (0.5, 0)
    alone = rows(analyse(study_of(items[:1])), "voting-accuracy")["T Timing"]
    assert (alone[3].point, alone[7].point) == (1, None)


def test_guessing_and_self_made_runs_do_not_vote():
    study = study_of(
        [single("q1", "ABBB")],
        runs={"m2": {"model": "random"}, "m3": {"model": "signal", "is_self": True}},
    )
    analysis = analyse(study)
    assert rows(analysis, "voting-accuracy")["All (micro)"][2].point == pytest.approx(1 / 2)
    assert "m2, m3" in analysis.notes[0]

"""People's answers: worked examples, and the paper's 1,279 of 1,500."""

import pytest

from evaluation.analyses.humans import analyse
from evaluation.analyses.values import Analysis, NotApplicable
from evaluation.scoring import ScoringError
from tests.support.studies import FAILED, Item, Said, study_of

HUMAN = {"is_human": True}
A, B = Said("A", c=0), Said("B", c=0)
# G: ada 2 of 2, ben 1 of 2; T: ada 0 of 1, ben cannot answer.
ITEMS = [
    Item("q1", "e1", "G", "single", "A", {"ada": A, "ben": A, "m": Said("A")}),
    Item("q2", "e1", "G", "single", "A", {"ada": A, "ben": B, "m": Said("A")}),
    Item("q3", "e2", "T", "single", "A", {"ada": B, "ben": FAILED, "m": Said("A")}),
]


def rows(analysis: Analysis, name: str) -> dict[str, tuple]:
    (table,) = (table for table in analysis.tables if table.name == name)
    return {str(row[0]): row[1:] for row in table.rows}


def points(cells: tuple) -> list[float | None]:
    return [cell.point for cell in cells]


def found(items=ITEMS, **how) -> Analysis:
    return analyse(study_of(items, runs={"ada": HUMAN, "ben": HUMAN}, **how))


def test_people_together_are_pooled_within_capabilities_and_then_averaged():
    raw = rows(found(), "humans-raw")
    assert raw["people (2)"][:2] == (6, 1)
    # 3 of 6; mean of 3/4 and 0/2; 3/4; 0/2.
    assert points(raw["people (2)"][2:]) == [0.5, 0.375, 0.75, 0.0]
    assert raw["ada"][:2] == (3, 0)
    assert points(raw["ada"][2:]) == pytest.approx([2 / 3, 0.5, 1.0, 0.0])
    # What ben could not answer stays in the denominator.
    assert raw["ben"][:2] == (3, 1)
    assert points(raw["ben"][2:]) == pytest.approx([1 / 3, 0.25, 0.5, 0.0])


def test_models_are_compared_on_the_same_items_alone():
    extra = Item("q9", "e9", "G", "single", "A", {"m": Said("B")})
    analysis = found([*ITEMS, extra])
    assert points(rows(analysis, "humans-raw")["m"][2:]) == [1.0, 1.0, 1.0, 1.0]
    assert points(rows(analysis, "humans-differences")["m"]) == [0.5, 0.625, 0.25, 1.0]
    assert analysis.drawings[0].svg.startswith("<svg") or "<svg" in analysis.drawings[0].svg


def test_differences_are_paired_so_that_what_never_differs_has_no_width():
    same = [item._replace(said={"ada": item.said["m"], "m": item.said["m"]}) for item in ITEMS]
    (gap,) = rows(analyse(study_of(same, runs={"ada": HUMAN})), "humans-differences").values()
    assert [(cell.point, cell.low, cell.high) for cell in gap[:1]] == [(0.0, 0.0, 0.0)]


def test_agreement_between_annotators():
    agreement = rows(found(), "humans-agreement")
    # Pairable: q1 AA, q2 AB. Half agree; alpha = 1 - 3 * 2 / (16 - 10) = 0.
    n, same, alpha, why = agreement["all choice items"]
    assert (n, same.point, why) == (3, 0.5, None)
    assert alpha.point == pytest.approx(0)
    assert agreement["T"] == (1, *agreement["T"][1:3], "no response was labelled by two of them")


def test_one_answer_throughout_leaves_alpha_undefined():
    items = [item._replace(said={"ada": A, "ben": A}) for item in ITEMS]
    assert rows(found(items), "humans-agreement")["all choice items"][-1].startswith("all labels")


def test_an_empty_capability_leaves_the_macro_undefined():
    raw = rows(found(declared=["G", "T", "R"]), "humans-raw")["people (2)"]
    assert points(raw[2:]) == [0.5, None, 0.75, 0.0, None]


def test_annotators_must_have_answered_the_same_items():
    lacking = [*ITEMS, Item("q4", "e4", "T", "single", "A", {"ada": A, "m": Said("A")})]
    with pytest.raises(ScoringError, match="differ in 1 items, such as q4"):
        found(lacking)


def test_a_model_that_lacks_some_of_the_items_is_named():
    lacking = [*ITEMS, Item("q4", "e4", "T", "single", "A", {"ada": A, "ben": A})]
    with pytest.raises(ScoringError, match="m lacks 1 of people's items, such as q4"):
        found(lacking)


def test_a_capability_with_one_episode_is_undefined_in_some_draws():
    cell = rows(found(), "humans-raw")["people (2)"][5]
    assert cell.point == 0.0
    assert cell.excluded > 0.05


def test_without_people_there_is_nothing_to_report():
    with pytest.raises(NotApplicable, match="No run is of a person"):
        analyse(study_of([item._replace(said={"m": A}) for item in ITEMS]))


def test_the_published_micro_accuracy():
    # Five annotators, 300 items, 1,279 of 1,500 right (paper, Table 27).
    people = ["p1", "p2", "p3", "p4", "p5"]
    items = [
        Item(
            f"q{n:03}",
            f"e{n:03}",
            "GWNTSAMR"[n % 8],
            "single",
            "A",
            {name: A if 5 * n + place < 1279 else B for place, name in enumerate(people)},
        )
        for n in range(300)
    ]
    analysis = analyse(study_of(items, runs=dict.fromkeys(people, HUMAN)))
    responses, _, micro, *_ = rows(analysis, "humans-raw")["people (5)"]
    assert responses == 1500
    assert f"{100 * micro.point:.2f}" == "85.27"

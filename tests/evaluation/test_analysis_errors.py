"""Kinds of failures: worked examples, people's decisions, and what cannot be analysed."""

from dataclasses import replace

import pytest

from evaluation.analyses.errors import analyse
from evaluation.analyses.values import Analysis, NotApplicable, Study
from evaluation.error_categories import ErrorLabel, scheme
from evaluation.people.files import People
from evaluation.people.rows import ErrorsRow
from evaluation.scoring import ScoringError
from tests.support.studies import FAILED, Item, Said, study_of

WRONG = Said("B")
# m: five failures, one of them a refusal; n fails at everything; p at nothing.
ITEMS = [
    Item("q1", "e1", "G", "single", "A", {"m": WRONG, "n": WRONG, "p": Said("A")}),
    Item("q2", "e1", "G", "single", "A", {"m": WRONG, "n": FAILED, "p": Said("A")}),
    Item("q3", "e2", "T", "single", "A", {"m": WRONG, "n": WRONG, "p": Said("A")}),
    Item("q4", "e3", "T", "single", "A", {"m": FAILED, "n": WRONG, "p": Said("A")}),
    Item("q5", "e3", "N", "open", "text", {"m": Said("t", a=0.5), "n": WRONG, "p": Said("text")}),
    Item("q6", "e4", "T", "single", "A", {"m": Said("A"), "n": WRONG, "p": Said("A")}),
]
KINDS = {"q1": "temporal", "q2": "temporal", "q3": "inference", "q5": "other"}


def label(item: str, category: str, model: str = "m", **how) -> ErrorLabel:
    facts = {"classifier": "sorter", "scheme": scheme().label, "condition": "full"} | how
    return ErrorLabel(item_id=item, model=model, category=category, **facts)


LABELS = tuple(label(item, category) for item, category in KINDS.items())


def decide(person: str, item: str, category: str) -> ErrorsRow:
    return ErrorsRow(
        kind="errors",
        person=person,
        item_id=item,
        model="m",
        condition="full",
        proposed=KINDS[item],
        category=category,
    )


def study(labels=LABELS, people: People | None = None, items=ITEMS) -> Study:
    return replace(study_of(items), errors=labels, people=people)


def rows(analysis: Analysis, name: str) -> dict[str, tuple]:
    (table,) = (table for table in analysis.tables if table.name == name)
    return {str(row[0]): dict(zip(table.columns[1:], row[1:], strict=True)) for row in table.rows}


def test_failures_divide_into_categories_and_outcomes():
    analysis = analyse(study())
    (found,) = rows(analysis, "errors-distribution").items()
    assert found[0] == "m"
    assert (found[1]["items"], found[1]["failures"]) == (6, 5)
    shares = {kind: cell.point for kind, cell in found[1].items() if hasattr(cell, "point")}
    # An open answer of half credit is a failure; a refusal is one without being asked about.
    assert {kind: share for kind, share in shares.items() if share} == {
        "temporal": 0.4,
        "inference": 0.2,
        "other": 0.2,
        "refusal": 0.2,
    }
    assert sum(shares.values()) == pytest.approx(1)
    assert len(analysis.drawings) == 1


def test_what_was_not_sorted_stays_in_the_denominator():
    found = rows(analyse(study(LABELS[:2])), "errors-distribution")["m"]
    assert (found["temporal"].point, found["not sorted"].point) == (0.4, 0.4)


def test_a_model_with_only_failures_and_one_without_any():
    labels = (*(label(f"q{n}", "norm", "n") for n in (1, 3, 4, 5, 6)), label("q1", "norm", "p"))
    found = rows(analyse(study(labels)), "errors-distribution")
    assert found["n"]["failures"] == 6
    assert found["n"]["norm"].point == pytest.approx(5 / 6)
    assert found["p"]["failures"] == 0
    assert found["p"]["norm"].point is None


def test_what_people_confirm_and_what_they_decide():
    said = People(
        errors=(
            decide("ada", "q1", "temporal"),
            decide("ben", "q1", "temporal"),
            decide("ada", "q2", "attribution"),
            decide("ben", "q2", "attribution"),
            decide("ada", "q3", "inference"),
            decide("ben", "q3", "norm"),
        )
    )
    analysis = analyse(study(people=said))
    confirmed = rows(analysis, "errors-confirmed")
    assert (confirmed["all"]["reviews"], confirmed["all"]["failures"]) == (6, 3)
    assert confirmed["all"]["confirmed"].point == 0.5
    assert confirmed["temporal"]["confirmed"].point == 0.5
    assert confirmed["inference"]["confirmed"].point == 0.5
    after = rows(analysis, "errors-confirmed-distribution")["m"]
    # q2 is attribution now; people tie about q3, whose category stands.
    assert (after["temporal"].point, after["attribution"].point, after["inference"].point) == (
        0.2,
        0.2,
        0.2,
    )
    agreement = rows(analysis, "errors-agreement")
    # Of two people a majority would be where they agree.
    assert "majority of people / classifier" not in agreement
    # Two of three failures have equal categories: alpha = 1 - 5 * 2 / (36 - (4 + 4 + 1 + 1)).
    assert agreement["between people"]["same"].point == pytest.approx(2 / 3)
    assert agreement["between people"]["alpha"].point == pytest.approx(1 - 10 / 26)
    assert after["reviewed"] == 3


def test_a_majority_is_of_three():
    said = [decide(who, "q1", "temporal") for who in ("ada", "ben")]
    said += [decide("cyd", "q1", "norm"), decide("ada", "q2", "norm")]
    pair = rows(analyse(study(people=People(errors=tuple(said)))), "errors-agreement")
    assert pair["majority of people / classifier"]["same"].point == 1


def test_reviews_of_what_another_classifier_proposed_are_left_out_and_counted():
    other = decide("ada", "q1", "norm").model_copy(update={"proposed": "norm"})
    stranger = decide("ada", "q2", "role").model_copy(update={"category": "role_confusion"})
    kept = decide("ada", "q3", "inference")
    analysis = analyse(study(people=People(errors=(other, stranger, kept))))
    confirmed = rows(analysis, "errors-confirmed")["all"]
    assert (confirmed["reviews"], confirmed["confirmed"].point) == (1, 1)
    assert rows(analysis, "errors-confirmed-distribution")["m"]["temporal"].point == 0.4
    assert any("2 of 3 reviews" in note for note in analysis.notes)


def test_intervals_of_reviews_redraw_episodes():
    # q1 and q2 are of one episode: its reviews come and go together.
    said = (decide("ada", "q1", "temporal"), decide("ada", "q2", "norm"))
    share = rows(analyse(study(people=People(errors=said))), "errors-confirmed")["all"]["confirmed"]
    assert (share.point, share.low, share.high, share.episodes) == (0.5, 0.5, 0.5, 1)


def test_a_model_whose_replies_all_lack_an_answer_keeps_its_row():
    items = [one._replace(said={**one.said, "silent": FAILED}) for one in ITEMS]
    analysis = analyse(study(items=items))
    found = rows(analysis, "errors-distribution")
    assert (found["silent"]["failures"], found["silent"]["refusal"].point) == (6, 1)
    assert "n" not in found
    assert any("nobody sorted their failures: n, p." in note for note in analysis.notes)


def test_several_classifiers_must_be_told_apart():
    with pytest.raises(ScoringError, match="other by cue-to-norm/1, sorter by cue-to-norm/1"):
        analyse(study((*LABELS, label("q1", "norm", classifier="other"))))


def test_an_unscored_item_is_named():
    items = [*ITEMS, Item("q7", "e5", "G", "single", "A", {"m": Said("A", support=None)})]
    with pytest.raises(ScoringError, match=r"m \(full\): 1 of \d+ items are unscored \(not_j"):
        analyse(study(items=items))


def test_without_categories_there_is_nothing_to_report():
    with pytest.raises(NotApplicable, match="psychemme errors"):
        analyse(study((label("q1", "norm", "stranger"),)))

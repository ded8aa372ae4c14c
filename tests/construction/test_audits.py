"""Planted faults are found and clean items are not; the same items give the same results."""

import random

import pytest

from construction.audits.registry import AUDITS, run_audits
from construction.audits.values import AuditItem, AuditResult, AuditSettings
from construction.gates import GatePolicy, blocking, gate, verdicts
from psychemme.items import Option
from psychemme.vocabulary import Capability, Format, GateOutcome
from tests.support.audit_items import FAULTS, LETTERS, clean_items, planted

SEEDS = (1, 2, 3)


def results_of(items: list[AuditItem], **settings: object) -> dict[str, AuditResult]:
    return {one.audit: one for one in run_audits(items, AuditSettings(**settings))}


def item(**facts: object) -> AuditItem:
    options = tuple(
        Option(id=letter, text=text)
        for letter, text in zip(LETTERS, ("a", "b", "c", "d"), strict=True)
    )
    given = {"id": "x", "format": "single", "question": "Why?", "options": options, "answer": "A"}
    return AuditItem.model_validate(given | facts)


def moved_to(one: AuditItem, place: int) -> AuditItem:
    (right,) = one.right
    others = [letter for letter in LETTERS if letter != right]
    return one.model_copy(update={"shown": (*others[:place], right, *others[place:])})


def with_right(one: AuditItem, text: str) -> AuditItem:
    options = [Option(id=o.id, text=text) if o.id in one.right else o for o in one.options]
    return one.model_copy(update={"options": tuple(options)})


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_and_nothing_else_is(fault, seed):
    items, bad = planted(fault, seed=seed)
    result = results_of(items)[fault]
    found = {finding.item_id for finding in result.findings}
    assert len(bad) == 20
    assert len(found & bad) >= 0.95 * len(found)
    assert len(found & bad) >= 0.95 * len(bad)
    assert result.count == len(found)
    assert result.low < result.rate < result.high


def test_every_item_audit_has_a_planted_fault():
    alone = {audit.name for audit in AUDITS if audit.kind == "item"}
    assert alone - FAULTS.keys() == {"mutual_entailment", "similar_meaning"}


@pytest.mark.parametrize("seed", SEEDS)
def test_clean_items_raise_nothing(seed):
    items = clean_items(200, seed)
    results = run_audits(items)
    assert [one.audit for one in results if one.is_flagged] == []
    assert gate(results, GatePolicy()) == {}


def test_results_are_the_same_across_runs():
    items, _ = planted("cue_validity")
    assert run_audits(items) == run_audits(list(items))


def test_a_gathering_of_correct_options_at_one_place_is_flagged():
    items = [
        moved_to(one, 0) if n % 3 == 0 and one.single_answer else one
        for n, one in enumerate(clean_items(200))
    ]
    result = results_of(items)["answer_position"]
    assert result.is_flagged
    assert result.note == "place 1"
    assert {one.item_id for one in result.findings} == {
        one.id for one in items if one.single_answer and one.shown[0] in one.right
    }


def test_a_bias_within_one_capability_is_seen_though_the_whole_is_even():
    rng = random.Random(3)
    items = []
    for n in range(400):
        place = 2 if n % 8 == 0 else rng.choice((0, 0, 0, 1, 1, 1, 3, 3, 3, 2, 2))
        one = item(id=f"i{n}", capability=list(Capability)[n % 8])
        items.append(moved_to(one, place))
    result = results_of(items)["answer_position"]
    assert result.is_flagged
    assert "uneven within G" in result.note
    assert result.by_capability["G"].p_value < 1e-6


def test_positions_count_in_the_order_shown():
    one = item(shown=("D", "C", "B", "A"))
    assert results_of([one])["answer_position"].note == "place 4"


def test_longest_correct_options_are_flagged_against_chance():
    items = [
        with_right(one, "carry it to the far end of the old garden before anybody else wakes up")
        if n % 2 and one.single_answer
        else one
        for n, one in enumerate(clean_items(200))
    ]
    result = results_of(items)["longest_option"]
    assert result.is_flagged
    assert result.expected == pytest.approx(0.25)
    assert result.low > 0.25


def test_options_that_tell_are_learnt_and_others_are_not():
    even = clean_items(600)
    result = results_of(even)["option_only"]
    assert not result.is_flagged
    assert result.low < 0.25 < result.high
    telling = [
        with_right(one, f"{one.single_answer.text} kindly") if one.single_answer else one
        for one in even
    ]
    result = results_of(telling)["option_only"]
    assert result.is_flagged
    assert result.rate > 0.9


def test_episodes_are_kept_together_when_options_are_learnt():
    # A correct wording of each episode's own: it would tell, had its other item been learnt.
    rng = random.Random(5)
    items = []
    for n in range(600):
        right = rng.choice(LETTERS)
        texts = {letter: f"zz{rng.getrandbits(40):012x}" for letter in LETTERS}
        texts[right] = f"zeal{n // 2:010}"
        options = tuple(Option(id=letter, text=text) for letter, text in texts.items())
        items.append(item(id=f"i{n}", episode_id=f"e{n // 2}", options=options, answer=right))
    assert not results_of(items)["option_only"].is_flagged


def test_one_opening_for_all_questions_is_flagged():
    items = [
        one.model_copy(update={"question": f"What does it mean that {one.question}"})
        for one in clean_items(200)
    ]
    results = results_of(items)
    assert results["question_openings"].is_flagged
    assert results["question_openings"].note == "“what does it …”"
    assert len(results["question_openings"].findings) == 200


def test_one_wording_for_all_questions_has_few_distinct_pairs():
    items = [
        one.model_copy(update={"question": "Why does Anna wait for the bus today?"})
        for one in clean_items(200)
    ]
    result = results_of(items)["distinct_ngrams"]
    assert result.is_flagged
    assert result.rate == pytest.approx(7 / 350)


def test_cues_that_all_begin_at_the_start_are_flagged():
    items = [
        one.model_copy(
            update={"cues": tuple(cue.model_copy(update={"start": 0.5}) for cue in one.cues)}
        )
        for one in clean_items(100)
    ]
    result = results_of(items)["cue_position"]
    assert result.is_flagged
    assert result.rate == 1.0


def test_missing_kinds_are_named():
    items = [item(id=str(n), capability="G") for n in range(30)]
    results = results_of(items)
    assert results["capability_balance"].is_flagged
    assert "none of W, N, T, S, A, M, R" in results["capability_balance"].note
    assert "none of multiple, open" in results["format_balance"].note


def test_nothing_to_audit_is_said_and_not_a_rate():
    for result in run_audits([]):
        assert result.rate is None
        assert result.why
        assert not result.findings


def test_two_items_of_one_id_are_refused():
    with pytest.raises(ValueError, match="share an id"):
        run_audits([item(), item()])


def test_entailment_is_not_run_without_a_model_and_asks_of_each_pair_with_one():
    asked = []

    def entails(pair):
        asked.append(pair.one.id + pair.other.id)
        return {pair.one.id, pair.other.id} == {"B", "C"}

    without = results_of([item()])["mutual_entailment"]
    assert without.why == "not run: no entailment model is given"
    found = {one.audit: one for one in run_audits([item()], entails=entails)}["mutual_entailment"]
    assert asked == ["AB", "AC", "AD", "BC", "BD", "CD"]
    assert [one.detail for one in found.findings] == ["options B and C entail each other"]


def test_gates_block_warn_or_are_off_as_the_policy_says():
    items, bad = planted("profanity")
    results = run_audits(items)
    assert gate(results, GatePolicy(profanity="off")) == {}
    warned = gate(results, GatePolicy())
    assert warned.keys() == bad
    assert not any(map(blocking, warned.values()))
    blocked = gate(results, GatePolicy(profanity="block"))
    assert blocking(blocked[min(bad)]) == "profanity: 'shit' in the question"


def test_a_set_audit_names_items_only_where_it_may_block():
    items = [moved_to(one, 0) if one.single_answer else one for one in clean_items(100)]
    results = run_audits(items)
    assert gate(results, GatePolicy()) == {}
    assert len(gate(results, GatePolicy(answer_position="block"))) == sum(
        one.single_answer is not None for one in items
    )


def test_verdicts_say_passed_of_what_was_looked_at():
    items, bad = planted("profanity")
    results = run_audits(items)
    found = gate(results, GatePolicy())
    said = {one.gate: one.outcome for one in verdicts(results, found[min(bad)], GatePolicy())}
    assert said["profanity"] is GateOutcome.WARN
    assert said["cue_validity"] is GateOutcome.PASSED
    assert "mutual_entailment" not in said
    assert "answer_position" not in said


def test_an_unknown_gate_has_no_action():
    for name in ("thresholds", "nothing"):
        with pytest.raises(KeyError):
            GatePolicy().action(name)


def test_every_audit_has_a_gate_and_says_its_own_name():
    results = run_audits(clean_items(30))
    assert [one.audit for one in results] == [audit.name for audit in AUDITS]
    for audit, result in zip(AUDITS, results, strict=True):
        assert GatePolicy().action(audit.name) in ("warn", "block")
        assert (result.title, result.kind) == (audit.title, audit.kind)


@pytest.mark.parametrize("form", Format)
def test_audits_take_broken_items(form):
    broken = AuditItem(id="x", format=form, question="", answer=())
    assert run_audits([broken, broken.model_copy(update={"id": "y"})])

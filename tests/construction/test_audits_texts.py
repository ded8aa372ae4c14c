"""What single texts are taken for: personal data, referents, duplicates, echoes; and statistics."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construction.audits.cues import outcome_shown
from construction.audits.options import option_duplicates, option_similarity, reference_echo
from construction.audits.referents import ambiguous_referents, may_be_several
from construction.audits.registry import run_audits
from construction.audits.similar import near_duplicates, signature
from construction.audits.speech import kind_of_data, profanity, street_address
from construction.audits.statistics import chi_squared, chi_squared_p, wilson
from construction.audits.values import AuditItem, AuditSettings
from construction.audits.wording import content_words, jaccard, shingles, words
from psychemme.episode import Episode, FaceSample, Signals, Utterance, VoiceTurn, Word
from psychemme.items import Option

SETTINGS = AuditSettings()
BOX = (0.1, 0.1, 0.2, 0.2)


def item(question="Why?", options=("one", "two"), answer="A", **facts):
    lettered = tuple(Option(id=chr(65 + n), text=text) for n, text in enumerate(options))
    given_ = {"id": "x", "format": "single", "question": question, "options": lettered}
    return AuditItem.model_validate(given_ | {"answer": answer} | facts)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("write to anna.b+x@mail.example.org.", "an e-mail address"),
        ("follow @anna_b.90 there", "an account name"),
        ("call +49 30 901820 now", "a phone number"),
        ("call +1 (415) 555-0132", "a phone number"),
        ("call (415) 555-0132", "a phone number"),
        ("call 415-555-0132", "a phone number"),
        ("call 020 7946 0958", "a phone number"),
        ("call 555-0132 at noon", "a phone number"),
        ("call 0123456789", "a phone number"),
        ("her number is 5550132", "a phone number"),
        ("card 4111 1111 1111 1111", "a card number"),
        ("pay to DE89 3704 0044 0532 0130 00", "a bank account"),
        ("his number is 123-45-6789", "a social security number"),
        ("ana＠example.org", "an e-mail address"),
        ("ana@exa\u200bmple.org", "an e-mail address"),
        ("\u0430na@example.org", "an e-mail address"),
        ("ana@bücher.de", "an e-mail address"),
        ("call 555\u200b-123-4567", "a phone number"),
        ("06 12 34 56 78", "a phone number"),
        ("555–123–4567", "a phone number"),
        ("555\u2011123\u20114567", "a phone number"),
        ("415\u00a0555\u00a00132", "a phone number"),
        ("+34 612 345 678", "a phone number"),
        ("text 555-0132 tonight", "a phone number"),
        ("123\u201145\u20116789", "a social security number"),
        ("1-555-123-4567", "a phone number"),
        ("1 (555) 123-4567", "a phone number"),
        ("1.800.555.0199", "a phone number"),
        ("212/555-1234", "a phone number"),
        ("0049 176 1234567", "a phone number"),
        ("00491761234567", "a phone number"),
        ("555\u2043123\u20434567", "a phone number"),
        ("555\u02d7123\u02d74567", "a phone number"),
        ("555\u2e3a123\u2e3a4567", "a phone number"),
        ("WhatsApp 07700900123 please", "a phone number"),
        ("reach me at 07700900123", "a phone number"),
        ("call 07700900123", "a phone number"),
        ("de89370400440532013000", "a bank account"),
        ("gb82 west 1234 5698 7654 32 to Ben, then more", "a bank account"),
        ("GB82-WEST-1234-5698-7654-32", "a bank account"),
        ("AT61 1904 3002 3457 3201 then they wait", "a bank account"),
        ("4111.1111.1111.1111", "a card number"),
        ("ana@example\u3002com", "an e-mail address"),
    ],
)
def test_personal_data_is_known_by_its_shape(text, kind):
    assert kind_of_data(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        "What is said between 22.0 s and 27.6 s?",
        "from 12:30 to 13:45 on 2026-11-30",
        "in 1914-1918 and 1939-1945",
        "10 000 people, 1,000,000 euros, 3.14159265",
        "he scored 21-17 and then 3-0",
        "at 5 Oak trees, 2 Main ideas, 3 Way stops",
        "episode 0123456789abcdef-0-20000",
        "card 4111 1111 1111 1112",
        "GB00 WEST 1234 5698 7654 32",
        "000-12-3456",
        "the number 12345678 on the jersey",
        "gb82 when they were here with 1234 5698 7654 32",
        "they reach 5000000 today",
        "@janedoe",
        "meet me @ noon, or at the 4th street corner",
        "ISBN 978-3-16-148410-0",
        "1 2 3 4 5 6 7 8 9 10",
        "version 10.0.0.1",
        "She walks down the street, then the road",
        "page 100-150",
        "between 555-1000 items",
        "room number 12, 3 Red Square tiles",
        "wait 20 Seconds Close the door",
        "She leaves via the side 2 minutes later",
        "@home she is @noon",
        "He calls 911 in 2026",
        "the number of people is 1 234 567",
        "the number is 1 234 567.",
        "a number like 12.345.678, then",
        "the number 3.14159265",
        "text 1000-2000 words",
        "text 1000000-2000000 words",
        "phone 5550132 people",
        "100 000 000 000 00",
        "the number 100 000 000.",
        "+1 000 000 votes",
        "call on 2026-11-30",
        "call in 1914-1918.",
        "call between 10.30-11.30.",
        "lives at 221B Baker Street",
    ],
)
def test_what_only_looks_like_personal_data_is_none(text):
    assert kind_of_data(text) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("lives at 12 North Park Avenue", True),
        ("lives at 221B Baker Street", True),
        ("walks to 4 Garden Close, then", True),
        ("abita in via della Spiga 12", True),
        ("habite 12 rue de Rivoli", True),
        ("wohnt in der Hauptstraße 5", True),
        ("lives at 221B\u00a0Baker\u200b Street", True),
        ("at 5 Oak trees, 2 Main ideas, 3 Way stops", False),
        ("room number 12, 3 Red Square tiles", False),
        ("wait 20 Seconds Close the door", False),
        ("She leaves via the side 2 minutes later", False),
    ],
)
def test_a_street_with_a_number_is_told_apart(text, found):
    assert bool(street_address(item(text), SETTINGS)) is found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What the fuck?", True),
        ("fu\u200bck, fu\u00adck", True),
        ("f\u0443ck", True),
        ("pu\u0455\u0455\u0443", True),
        ("ｆｕｃｋ", True),
        ("What a dick.", True),
        ("DICK!", True),
        ("dicks, pricks, twats, arseholes, asses", True),
        ("bullshitting", True),
        ("a kike", True),
        ("Dick Whitby laughs", False),
        ("Why does Dick laugh?", False),
        ("the cock crowing", False),
        ("a chink in the armour", False),
        ("сука", False),
        ("BULLSHIT!", True),
        ("They class the assassin's cocktail in Scunthorpe", False),
        ("A shitake mushroom", False),
        ("Dickens passes the pussycat", False),
    ],
)
def test_profanity_is_whole_words(text, found):
    assert bool(profanity(item(text), SETTINGS)) is found


SEVERAL = Episode(
    duration=9.0,
    signals=Signals(turns=tuple(VoiceTurn(start=n, end=n + 1, voice=n + 1) for n in (0, 1))),
)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Why does she leave?", "'she'"),
        ("What does the man want?", "'the man'"),
        ("How should one answer the speaker?", "'the speaker'"),
        ("What is the woman's plan?", "'the woman'"),
        ("Why does Anna say she is fine?", None),
        ("Does the host like what he hears?", None),
        ("What does the man in the red hat want?", None),
        ("What does the man who laughs want?", None),
        ("What does the older man want?", None),
        ("What does the speaker want at 3.2 s?", None),
        ("Why does he leave at 0:42?", None),
        ('Someone says "she told him". What follows?', None),
        ("Someone says “the man is here”. What follows?", None),
        ("Who speaks last?", None),
        ("Ana smiles. Why does she do so?", None),
        ("Nobody moves. Why does she do so?", "'she'"),
        ("Looking away, why does she sigh?", "'she'"),
        ("How does the mum react to her son's tantrum?", None),
        ("What does the man want from the woman?", None),
        ("Why does the man shout at the man?", "'the man'"),
        ("What do they want?", None),
        ("What would the people at the table want?", None),
        ("Where is the mannequin?", None),
    ],
)
def test_whom_a_question_means(question, found):
    said = ambiguous_referents(item(question, episode=SEVERAL), SETTINGS)
    assert (said is None) if found is None else (said or "").startswith(found)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What do they want?", "'they'"),
        ("Why does it matter to them?", "'them'"),
        ("Why do the two men look at their shoes?", None),
        ("Does the audience like what they hear?", None),
        ("Who drops their cup?", None),
        ("How do Ana's friends feel about their trip?", None),
    ],
)
def test_of_more_than_two_any_may_be_meant(question, found):
    for count in (3, None):
        shown = Signals(faces=(FaceSample(time=1, boxes=(BOX,) * (count or 0)),) if count else ())
        episode = Episode(duration=9, signals=shown)
        said = ambiguous_referents(item(question, episode=episode), SETTINGS)
        assert (said is None) if found is None else (said or "").startswith(found)


def test_one_person_is_never_ambiguous_and_nobody_counted_may_be():
    alone = Episode(duration=9, signals=Signals(faces=(FaceSample(time=1, boxes=(BOX,)),)))
    two = Episode(duration=9, signals=Signals(faces=(FaceSample(time=1, boxes=(BOX, BOX)),)))
    several = [may_be_several(item(episode=one)) for one in (alone, two, Episode(duration=9), None)]
    assert several == [False, True, True, True]
    assert "any of 2 people" in ambiguous_referents(item("Why is he here?", episode=two), SETTINGS)
    assert "whoever is there" in ambiguous_referents(item("Why is he here?"), SETTINGS)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("He smiles.", "he smiles", True),
        ("Ｈｅｌｐ  her", "help her", True),
        ("Yes", "“yes” .", True),
        ("don't", "don’t", True),
        ("3–5", "3-5", True),
        ("−5", "-5", True),
        ("well–known", "well-known", True),
        ("gl\u0430d", "glad", True),
        ("5 %", "5%", True),
        ("A", "A-", False),
        ("A", "A+", False),
        ("C.", "C--.", False),
        ("he's", "he s", False),
        ("Really?", "Really.", False),
        ("Oh!", "Oh", False),
        ("“Really?!”", "really!?", True),
        ("$5", "£5", False),
        ("-5", "5", False),
        ("10%", "10", False),
        ("C#", "C++", False),
        ("He smiles at the dog", "He smiled at a dog", False),
        ("Fetching the hammer", "Fetching the hamer", False),
    ],
)
def test_which_options_say_the_same(one, other, same):
    assert bool(option_duplicates(item(options=(one, other)), SETTINGS)) is same


@pytest.mark.parametrize(
    ("one", "other", "like"),
    [
        ("He smiles at the dog", "He smiled at a dog", True),
        ("Fetching the hammer", "Fetching the hamer", True),
        ("angry", "very angry", True),
        ("Yes, of course", "Yes of course", True),
        ("Really?", "Really.", True),
        ("Oh!", "oh", True),
        ("C", "C--", False),
        ("He smiles.", "he smiles", False),
        ("He is angry", "She is angry", False),
        ("Anna thanks Ben", "Ben thanks Anna", False),
        ("after 12 seconds", "after 13 seconds", False),
        ("It is possible", "It is impossible", False),
        ("He is happy", "He is not happy", False),
        ("the increase", "the decrease", False),
        ("He helps her", "He hits her", False),
        ("She stares at him", "She starts at him", False),
        ("He would stay", "He wouldn't stay", False),
        ("a careful answer", "a careless answer", False),
        ("bored", "boring", False),
        ("Embarrassed", "Embarrassing", False),
        ("a confused look", "a confusing look", False),
        ("Not just Ana", "Not Ana", False),
        ("not very happy", "not happy", False),
        ("He isn't very happy", "He isn't happy", False),
        ("the only child", "only a child", False),
        ("her friend", "her friends", False),
        ("a brother", "brothers", False),
        ("moral", "morale", False),
        ("stars", "stares", False),
        ("human", "humane", False),
        ("$5", "£5", False),
        ("-5", "5", False),
        ("at 10% of it", "at 10 of it", False),
        ("in C#", "in C++", False),
    ],
)
def test_which_options_say_almost_the_same(one, other, like):
    assert bool(option_similarity(item(options=(one, other)), SETTINGS)) is like


@pytest.mark.parametrize(
    ("question", "options", "found"),
    [
        ("Who wants to open the window?", ("opens the window", "waits for lunch"), True),
        ("Does she open the window or the door?", ("open the window", "open the door"), False),
        ("Why?", ("opens the window", "waits"), False),
        ("Is it a window?", ("a window", "a door"), False),
    ],
)
def test_a_question_that_holds_its_answer(question, options, found):
    assert bool(reference_echo(item(question, options), SETTINGS)) is found


def test_near_duplicates_agree_with_comparing_all_pairs():
    rng = random.Random(11)
    vocabulary = [
        f"{a}{b}" for a in ("ba", "cor", "dim", "fel") for b in ("tan", "sol", "mer", "pid")
    ]
    texts = [" ".join(rng.choices(vocabulary, k=12)) for _ in range(150)]
    for _ in range(150):
        changed = rng.choice(texts[:150]).split()
        changed[rng.randrange(12)] = rng.choice(vocabulary)
        texts.append(" ".join(changed))
    sets = [shingles(text) for text in texts]
    alike = {
        one
        for one in range(len(texts))
        for other in range(one)
        if jaccard(sets[one], sets[other]) >= 0.8
    }
    found = list(near_duplicates(texts, 0.8))
    for one, other, like in found:
        assert other < one
        assert like == pytest.approx(jaccard(sets[one], sets[other]))
        assert like >= 0.8
    # A text that repeats another stands for no third, so that chains are cut short.
    assert len(alike) > 50
    assert {one for one, *_ in found} <= alike
    assert len(found) >= 0.95 * len(alike)


def test_groups_are_never_compared():
    assert not list(near_duplicates(["same text"] * 3, 0.8, ["a", "b", "c"]))
    assert [one for one, *_ in near_duplicates(["same text"] * 3, 0.8, ["a", "b", "a"])] == [2]


@pytest.mark.parametrize(
    "question",
    [
        "Why does Ana take the bag which Ben left on the bench?",
        "What do those long looks between Ana and Ben mean?",
        "Why is Ben following these people to the station?",
        "Which of the two women is more upset by the news?",
    ],
)
def test_a_question_asked_twice_offends_whatever_its_options(question):
    twice = [
        item(question, options, id=name, episode_id="e")
        for name, options in (("x", ("to return it", "to open it")), ("y", ("to hide", "to sell")))
    ]
    assert repeated(twice) == ["y"]


@pytest.mark.parametrize(
    "question",
    ["Which of these fits?", "Which of the following is true?", "Which statement about Ana holds?"],
)
def test_what_is_asked_of_the_options_is_another_question_with_others(question):
    options = (("Ana is late", "Ben is glad"), ("The key is lost", "The door is open"))
    twice = [item(question, o, id=str(n), episode_id="e") for n, o in enumerate(options)]
    assert repeated(twice) == []
    assert repeated([twice[0], twice[0].model_copy(update={"id": "z"})]) == ["z"]


def repeated(items):
    found = {one.audit: one for one in run_audits(items)}["duplicate_questions"]
    return [one.item_id for one in found.findings]


ANSWER = "Take your time and look in the red bag"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (Utterance(start=9.5, end=11.5, text=ANSWER), True),
        (Utterance(start=8, end=10.1, text=ANSWER), False),
        (
            Utterance(
                start=8,
                end=18,
                text=ANSWER,
                words=[Word(start=8, end=9, text=word) for word in ANSWER.split()],
            ),
            False,
        ),
    ],
)
def test_a_line_is_parted_at_the_decision_time(line, found):
    decided = item(
        "What should Ana do now?",
        (ANSWER, "Hurry up and leave the house", "Call the police about it"),
        capability="S",
        decision_time=10.0,
        episode=Episode(duration=30, transcript=(line,)),
    )
    assert bool(outcome_shown(decided, SETTINGS)) is found


def test_thousands_of_the_same_kind_stay_cheap():
    texts = [
        f"why does the visitor carry the basket {n:b} home".replace("0", "o") for n in range(1500)
    ]
    compared = 0

    def counting(one, other):
        nonlocal compared
        compared += 1
        return jaccard(one, other)

    from construction.audits import similar

    original, similar.jaccard = similar.jaccard, counting
    try:
        list(near_duplicates(texts, 0.99))
    finally:
        similar.jaccard = original
    assert compared <= 16 * 32 * len(texts)
    assert compared < len(texts) ** 2 / 4


@given(st.sets(st.integers(0, 2**63), min_size=1), st.sets(st.integers(0, 2**63), min_size=1))
def test_signatures_agree_about_as_often_as_sets_overlap(one, other):
    import numpy as np

    first, second = (np.array(sorted(s), dtype=np.uint64) for s in (one, other))
    assert jaccard(first, second) == pytest.approx(len(one & other) / len(one | other))
    assert jaccard(first, first) == 1.0
    if one == other:
        assert (signature(first) == signature(second)).all()


def test_signatures_estimate_similarity():
    rng = random.Random(2)
    import numpy as np

    for share in (0.2, 0.5, 0.8):
        guesses = []
        for _ in range(40):
            both = rng.sample(range(2**40), round(300 * share))
            rest = rng.sample(range(2**40, 2**41), 2 * (300 - len(both)))
            half = len(rest) // 2
            one, other = (np.array(sorted(both + r), np.uint64) for r in (rest[:half], rest[half:]))
            guesses.append(((signature(one) == signature(other)).mean(), jaccard(one, other)))
        assert np.mean([g for g, _ in guesses]) == pytest.approx(
            np.mean([j for _, j in guesses]), abs=0.04
        )


def test_words_fold_width_and_case():
    assert words("Ｈe's  HERE—now") == ("he's", "here", "now")
    assert content_words("The dogs were smiling at smiles") == {"dog", "smil"}


@given(st.text(max_size=200))
def test_any_text_has_shingles(text):
    assert shingles(text).size >= 1


@pytest.mark.parametrize(("count", "of"), [(0, 1), (1, 1), (0, 50), (3, 20), (500, 1000)])
def test_intervals_are_wilsons(count, of):
    stats = pytest.importorskip("scipy.stats")
    exact = stats.binomtest(count, of).proportion_ci(method="wilson")
    assert wilson(count, of) == pytest.approx((exact.low, exact.high), abs=1e-9)


@given(st.floats(0.001, 500), st.integers(1, 60))
def test_p_values_are_those_of_the_distribution(statistic, freedom):
    stats = pytest.importorskip("scipy.stats")
    expected = stats.chi2.sf(statistic, freedom)
    assert chi_squared_p(statistic, freedom) == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_chi_squared_adds_groups():
    stats = pytest.importorskip("scipy.stats")
    one, other = [10, 20, 30], [5, 5]
    statistic, freedom = chi_squared([one, other])
    assert statistic == pytest.approx(stats.chisquare(one).statistic)
    assert freedom == 3
    assert chi_squared_p(0.0, 3) == 1.0


def test_no_observation_has_no_interval():
    with pytest.raises(ValueError, match="no observation"):
        wilson(0, 0)


@pytest.mark.parametrize(
    "text",
    [
        *("a", "“", '"', "@", "a@", "1 ", "the ", "A.", "' ", "the man's ", "(1", "d la ", "+1 "),
        *("call 1", "call 1 000 ", "0 00", "+1 000 ", "Ana's ", "a-", "a\u0443", "they ", "é@é."),
    ],
)
def test_no_text_takes_long(text):
    long = (text * 60_000)[:60_000]
    began = time.process_time()
    run_audits([item(f"12 rue {long}", (long, f"{long}b"), episode=SEVERAL)])
    assert time.process_time() - began < 5

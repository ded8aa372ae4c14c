"""Items for the audits: clean ones from templates, and one kind of fault planted at a time."""

import random
from collections.abc import Callable
from functools import lru_cache

from construction.audits.values import AuditItem
from psychemme.episode import Episode, Signals, Utterance, VoiceTurn
from psychemme.items import Cue, KeyPoint, Option
from psychemme.vocabulary import Capability, Format, Modality


def _listed(text: str) -> list[str]:
    return [" ".join(one.split()) for one in text.split("|")]


NAMES = _listed(
    """Anna | Ben | Carla | Dario | Edith | Farid | Greta | Hugo | Ines | Jonas | Karim | Lena |
    Mira | Nils | Olga | Petra | Quentin | Rosa | Samir | Tilda | Ugo | Vera | Wanda | Xenia |
    Yusuf | Zora | Amos | Bruno | Celia | Dora"""
)
VERBS = _listed(
    """carry | lift | hide | share | fold | paint | offer | return | polish | borrow | mend | drop |
    examine | unwrap | throw | balance | measure | trim | scrub | decorate | stack | sort | push |
    drag | admire | refuse | rinse | wrap | label | trade"""
)
THINGS = _listed(
    """basket | lantern | ladder | letter | violin | umbrella | sandwich | notebook | blanket |
    bicycle | camera | teapot | jacket | puzzle | suitcase | mirror | candle | wallet | compass |
    backpack | curtain | drawing | guitar | hammer | kettle | magazine | necklace | orange |
    pillow | radio | scarf | ticket | vase | whistle | yoghurt | zipper"""
)
LOOKS = _listed(
    """green | broken | heavy | silver | dusty | striped | round | tiny | borrowed | wooden |
    yellow | torn | shiny | folded | empty | painted | narrow | old | precious | wet | plain |
    golden | crooked | leather | hollow | purple | spotted"""
)
WAYS = _listed(
    """quietly | with a laugh | before lunch | near the window | without looking up |
    for a neighbour | twice | behind the sofa | in a hurry | at the doorway | under the lamp |
    after some hesitation | on tiptoe | beside the stove | with both hands | as a surprise |
    in the garden | by mistake"""
)
QUESTIONS = (
    "Why does {name} {verb} the {look} {thing} {way}?",
    "What makes {name} {verb} a {look} {thing} {way}?",
    "How does {name} react once somebody starts to {verb} the {look} {thing}?",
    "Which reply would suit {name}, holding a {look} {thing}, {way}?",
    "Seeing the {look} {thing}, what is {name} worried about {way}?",
    "When {name} stops to {verb} the {thing}, which need comes first {way}?",
    "Given the {look} {thing}, does {name} want to {verb} or to wait {way}?",
    "After the {thing} is gone, whom does {name} thank {way}?",
    "Is {name} pleased to {verb} the {look} {thing} {way}?",
    "From the tone alone, is the {look} {thing} a gift to {name} {way}?",
    "By the end, how many people helped {name} to {verb} the {thing} {way}?",
    "Before touching the {look} {thing}, at whom does {name} glance {way}?",
)
LETTERS = "ABCD"
DURATION, DECISION = 60.0, 40.0


def clean_items(count: int, seed: int = 1) -> list[AuditItem]:
    """Return `count` items without a fault, two an episode, of all formats and capabilities."""
    return [_item(number, seed) for number in range(count)]


def planted(
    fault: str, count: int = 200, share: float = 0.1, seed: int = 1
) -> tuple[list[AuditItem], set[str]]:
    """Return items of which a share has one fault, and the ids of those."""
    items = clean_items(count, seed)
    rng = random.Random(f"{seed}:{fault}")
    fit = [n for n, item in enumerate(items) if n >= 2 and _takes(fault, item)]
    chosen = sorted(rng.sample(fit, round(count * share)))
    for turn, n in enumerate(chosen):
        items[n] = FAULTS[fault](items[n], turn, items)
    return items, {items[n].id for n in chosen}


def _item(number: int, seed: int) -> AuditItem:
    rng = random.Random(f"{seed}:{number}")
    capability = list(Capability)[number % 8]
    form = (*[Format.SINGLE] * 8, Format.MULTIPLE, Format.OPEN)[(number // 8) % 10]
    options = tuple(Option(id=letter, text=_phrase(rng)) for letter in LETTERS)
    right = rng.choice(LETTERS)
    answer = {
        Format.SINGLE: right,
        Format.MULTIPLE: tuple(sorted(rng.sample(LETTERS, 2))),
        Format.OPEN: _phrase(rng),
    }[form]
    start = rng.uniform(2, 25)
    decided = capability in (Capability.TIMING, Capability.RESPONSE, Capability.ACTION)
    return AuditItem(
        id=f"i{number:06}",
        episode_id=f"e{number // 2:06}",
        capability=capability,
        format=form,
        question=_question(rng),
        options=options if form.is_choice else (),
        answer=answer,
        shown=tuple(rng.sample(LETTERS, 4)) if form.is_choice else (),
        cues=(
            Cue(
                start=start,
                end=start + rng.uniform(1, 8),
                modality=rng.choice((Modality.SPEECH, Modality.VISUAL)),
                description=_phrase(rng),
            ),
        ),
        key_points=() if form.is_choice else (KeyPoint(text=_phrase(rng)),),
        decision_time=DECISION if decided else None,
        episode=_episode(number // 2, seed),
    )


@lru_cache(maxsize=2)
def _episode(number: int, seed: int) -> Episode:
    rng = random.Random(f"{seed}:episode:{number}")
    lines = tuple(
        Utterance(start=at, end=at + 5.0, text=f"I {_phrase(rng)}.") for at in range(0, 60, 6)
    )
    turns = tuple(VoiceTurn(start=at, end=at + 5.0, voice=1 + at % 12 // 6) for at in (0, 6, 12))
    return Episode(duration=DURATION, transcript=lines, signals=Signals(turns=turns))


def _question(rng: random.Random) -> str:
    made = rng.choice(QUESTIONS)
    return made.format(
        name=rng.choice(NAMES),
        verb=rng.choice(VERBS),
        look=rng.choice(LOOKS),
        thing=rng.choice(THINGS),
        way=rng.choice(WAYS),
    )


def _phrase(rng: random.Random) -> str:
    words = (rng.choice(VERBS), rng.choice(LOOKS), rng.choice(THINGS), rng.choice(WAYS))
    return "{} the {} {} {}".format(*words)


def _right_text(item: AuditItem) -> str:
    if not item.format.is_choice:
        return str(item.answer)
    return next(option.text for option in item.options if option.id in item.right)


def _with_option(item: AuditItem, place: int, text: str) -> AuditItem:
    options = list(item.options)
    options[place] = Option(id=options[place].id, text=text)
    return item.model_copy(update={"options": tuple(options)})


def _option_count(item: AuditItem, turn: int, _: list[AuditItem]) -> AuditItem:
    if not item.format.is_choice:
        return item.model_copy(update={"options": (Option(id="A", text="yes"),)})
    kept = [o for o in item.options if o.id in item.right][:1]
    many = [Option(id=chr(65 + n), text=f"{_right_text(item)} {n}") for n in range(12)]
    return item.model_copy(update={"options": tuple(many if turn % 2 else kept)})


def _option_duplicates(item: AuditItem, turn: int, _: list[AuditItem]) -> AuditItem:
    first = item.options[0].text
    same = (f"  {first.upper()}. ", f"“{first}”", first.replace(" ", "\N{NO-BREAK SPACE} "))
    return _with_option(item, 2, same[turn % 3])


def _option_similarity(item: AuditItem, turn: int, _: list[AuditItem]) -> AuditItem:
    first = item.options[0].text
    verb, rest = first.split(" ", 1)
    like = (
        first.replace("the ", "the very "),
        first.replace("the ", "a "),
        f"{verb.removesuffix('e')}ing {rest}",
    )
    return _with_option(item, 2, like[turn % 3])


def _answer_sanity(item: AuditItem, turn: int, _: list[AuditItem]) -> AuditItem:
    wrong: tuple[object, ...] = {
        Format.SINGLE: (("A", "B"), (), "Z"),
        Format.MULTIPLE: (tuple(LETTERS), ("C",), ()),
        Format.OPEN: (" ", "", "\N{ZERO WIDTH SPACE}"),
    }[item.format]
    return item.model_copy(update={"answer": wrong[turn % 3]})


def _reference_echo(item: AuditItem, turn: int, _: list[AuditItem]) -> AuditItem:
    asked = f"What happens when somebody starts to {_right_text(item)}?"
    return item.model_copy(update={"question": asked})


def _duplicate(item: AuditItem, turn: int, items: list[AuditItem]) -> AuditItem:
    number = int(item.id[1:])
    twin = items[number - 1 if number % 2 else number + 1]
    other = items[number - 2]
    source = twin if number % 2 else other
    again = source.question.replace("?", " now?") if turn % 2 else source.question.upper()
    return item.model_copy(
        update={
            "question": again,
            "options": source.options if item.options and source.options else item.options,
            "episode_id": source.episode_id,
            "decision_time": source.decision_time,
        }
    )


def _repeated(item: AuditItem, turn: int, items: list[AuditItem]) -> AuditItem:
    source = items[(turn * 7) % 2]
    again = source.question if turn % 2 else source.question.replace("?", "!")
    return item.model_copy(update={"question": again})


def _ambiguous(item: AuditItem, turn: int, _: list[AuditItem]) -> AuditItem:
    asked = (
        "Why does she look away now?",
        "What does the man need most?",
        "How would you answer him?",
        "What is the speaker's plan?",
        "Which wish does the woman hold back?",
    )
    return item.model_copy(update={"question": f"{asked[turn % 5]} ({item.id})"})


def _cue(item: AuditItem, turn: int, _: list[AuditItem]) -> AuditItem:
    start, end, modality = (
        (50.0, 61.0, Modality.VISUAL),
        (-1.0, 3.0, Modality.VISUAL),
        (9.0, 9.01, Modality.VISUAL),
        (0.0, 59.0, Modality.VISUAL),
        (5.2, 5.8, Modality.SPEECH),
        (1.0, 2.0, Modality.HISTORY),
        (7.0, 6.0, Modality.PROSODY),
    )[turn % 7]
    bad = Cue(start=start, end=end, modality=modality, description="something")
    return item.model_copy(update={"cues": () if turn % 8 == 7 else (*item.cues, bad)})


def _outcome(item: AuditItem, turn: int, _: list[AuditItem]) -> AuditItem:
    episode = item.episode
    assert episode is not None
    if turn % 2 and item.capability != Capability.TIMING:
        late = Cue(start=45.0, end=48.0, modality=Modality.VISUAL, description="what came")
        return item.model_copy(update={"cues": (*item.cues, late)})
    said = Utterance(start=52.0, end=55.0, text=f"So they {_right_text(item)}.")
    lines = (*episode.transcript, said)
    return item.model_copy(update={"episode": episode.model_copy(update={"transcript": lines})})


def _profane(item: AuditItem, turn: int, _: list[AuditItem]) -> AuditItem:
    return item.model_copy(update={"question": f"{item.question} Holy shit!"})


def _personal(item: AuditItem, turn: int, _: list[AuditItem]) -> AuditItem:
    data = (
        "anna.b@example.org",
        "+44 20 7946 0958",
        "(555) 012-3456",
        "4111 1111 1111 1111",
        "GB82 WEST 1234 5698 7654 32",
        "@anna_b_1990",
    )[turn % 6]
    cue = item.cues[0].model_copy(update={"description": f"a note that says {data}"})
    if turn % 2:
        return item.model_copy(update={"cues": (cue,)})
    return item.model_copy(update={"question": f"{item.question} Is it {data}?"})


def _street(item: AuditItem, turn: int, _: list[AuditItem]) -> AuditItem:
    street = ("221B Baker Street", "12 North Park Avenue", "via della Spiga 12")[turn % 3]
    return item.model_copy(update={"question": f"{item.question} Is it {street}?"})


Plant = Callable[[AuditItem, int, list[AuditItem]], AuditItem]
FAULTS: dict[str, Plant] = {
    "option_count": _option_count,
    "option_duplicates": _option_duplicates,
    "option_similarity": _option_similarity,
    "answer_sanity": _answer_sanity,
    "reference_echo": _reference_echo,
    "duplicate_questions": _duplicate,
    "repeated_questions": _repeated,
    "ambiguous_referents": _ambiguous,
    "cue_validity": _cue,
    "outcome_shown": _outcome,
    "profanity": _profane,
    "personal_data": _personal,
    "street_address": _street,
}


def _takes(fault: str, item: AuditItem) -> bool:
    if fault == "outcome_shown":
        return item.decision_time is not None
    if fault in ("option_duplicates", "option_similarity"):
        return item.format.is_choice
    if fault == "duplicate_questions":
        return int(item.id[1:]) % 2 == 1
    return True

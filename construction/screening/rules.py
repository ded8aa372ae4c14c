"""The thresholds of screening, and what a clip's measures say against it."""

from collections.abc import Iterator
from typing import NamedTuple

from pydantic import Field

from psychemme.episode import Value


class RubricMinimum(Value):
    """The score, of 0 to 2, that a model's rating must reach in each dimension of the rubric."""

    interaction: int = Field(default=1, ge=0, le=2)
    people: int = Field(default=1, ge=0, le=2)
    exchange: int = Field(default=0, ge=0, le=2)
    quality: int = Field(default=1, ge=0, le=2)
    safety: int = Field(default=1, ge=0, le=2)


class ScreeningRules(Value):
    """When a clip is refused. Seconds, shares (fractions of the clip's time) and counts.

    A threshold of 0 or a share of 1 refuses nothing. `blur` is the variance of the Laplacian,
    `brightness` a fraction of full scale, `turns` counts changes of the voice that is heard.
    `languages` are codes such as `en`; none means any. `duplicates` keeps one clip of those that
    show the same. `require_terms` refuses what has no licence or no consent, whoever wants it.
    `rubric_minimum` is held against what a model said, where one was asked.
    """

    min_speech_seconds: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    min_face_share: float = Field(default=0.0, ge=0, le=1)
    min_blur: float = Field(default=10.0, ge=0, allow_inf_nan=False)
    min_brightness: float = Field(default=0.04, ge=0, le=1)
    max_brightness: float = Field(default=0.97, ge=0, le=1)
    max_still_share: float = Field(default=0.9, ge=0, le=1)
    max_credits_share: float = Field(default=0.5, ge=0, le=1)
    min_turns: int = Field(default=0, ge=0)
    languages: tuple[str, ...] = ()
    min_language_probability: float = Field(default=0.5, ge=0, le=1)
    duplicates: bool = True
    require_terms: bool = False
    rubric_minimum: RubricMinimum = RubricMinimum()


class Measures(Value):
    """What was measured in a clip; None where it could not be.

    `seconds` is its length, `face_share` the share of sampled seconds with a frontal face,
    `still_share` and `credits_share` the shares of its time in which nothing moves and in which
    lettering stands on an even ground, `said` how the transcript begins.
    """

    seconds: float
    speech_seconds: float = 0.0
    face_share: float | None = None
    blur: float | None = None
    brightness: float | None = None
    still_share: float | None = None
    credits_share: float | None = None
    turns: int = 0
    voices: int = 0
    language: str | None = None
    language_probability: float | None = None
    said: str = ""


class Compared(NamedTuple):
    """One measure, None where there is none, and the rule that it was held against."""

    rule: str
    measure: str | None
    threshold: str
    is_against: bool


class Reason(Value):
    """Why a clip is refused: the rule of the plan, what was measured and the threshold."""

    rule: str
    measure: str
    threshold: str
    detail: str = ""

    def __str__(self) -> str:
        found = f"{self.rule}: {self.measure} (threshold {self.threshold})"
        return f"{found}, {self.detail}" if self.detail else found


SAME_AS = "shows the same as clip "
"""How the detail of a copy's reason begins; the other clip's id follows."""
TERMS = "require_terms"
"""The rule that no decision of a person overrides."""


def compared(measures: Measures, rules: ScreeningRules) -> tuple[Compared, ...]:
    """Return every measure beside its rule; what was not measured is held against no clip."""
    return (*_below(measures, rules), *_above(measures, rules), *_language(measures, rules))


def reasons_against(measures: Measures, rules: ScreeningRules) -> tuple[Reason, ...]:
    """Return every reason that `measures` give; what was not measured gives none."""
    return tuple(
        Reason(rule=one.rule, measure=one.measure or "", threshold=one.threshold)
        for one in compared(measures, rules)
        if one.is_against
    )


def reason_of_terms(
    licence: str | None, consent: str | None, rules: ScreeningRules
) -> tuple[Reason, ...]:
    """Return the reason that lacking terms give where the rules ask for them."""
    lacking = [name for name, given in (("licence", licence), ("consent", consent)) if not given]
    if not (rules.require_terms and lacking):
        return ()
    return (Reason(rule=TERMS, measure=f"no {' and no '.join(lacking)}", threshold="both"),)


def _below(measures: Measures, rules: ScreeningRules) -> Iterator[Compared]:
    pairs = (
        ("min_speech_seconds", measures.speech_seconds, rules.min_speech_seconds),
        ("min_face_share", measures.face_share, rules.min_face_share),
        ("min_blur", measures.blur, rules.min_blur),
        ("min_brightness", measures.brightness, rules.min_brightness),
        ("min_turns", measures.turns, rules.min_turns),
    )
    for rule, measure, least in pairs:
        is_against = measure is not None and measure < least
        yield Compared(rule, _shown(measure), f"{least:g}", is_against)


def _above(measures: Measures, rules: ScreeningRules) -> Iterator[Compared]:
    pairs = (
        ("max_brightness", measures.brightness, rules.max_brightness),
        ("max_still_share", measures.still_share, rules.max_still_share),
        ("max_credits_share", measures.credits_share, rules.max_credits_share),
    )
    for rule, measure, most in pairs:
        is_against = measure is not None and measure > most
        yield Compared(rule, _shown(measure), f"{most:g}", is_against)


def _language(measures: Measures, rules: ScreeningRules) -> Iterator[Compared]:
    heard, sure = measures.language, measures.language_probability or 0.0
    if not rules.languages:
        return
    told = None if heard is None else f"{heard} ({sure:.2f})"
    is_sure = heard is not None and sure >= rules.min_language_probability
    is_against = is_sure and heard not in rules.languages
    yield Compared("languages", told, ", ".join(rules.languages), is_against)


def _shown(measure: float | None) -> str | None:
    return None if measure is None else f"{measure:g}"

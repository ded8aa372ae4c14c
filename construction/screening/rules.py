"""The thresholds of screening, and what a clip's measures say against it."""

from collections.abc import Iterator

from pydantic import Field

from psychemme.episode import Value


class ScreeningRules(Value):
    """When a clip is refused. Seconds, shares (fractions of the clip's time) and counts.

    A threshold of 0 or a share of 1 refuses nothing. `blur` is the variance of the Laplacian,
    `brightness` a fraction of full scale, `turns` counts changes of the voice that is heard.
    `languages` are codes such as `en`; none means any. `duplicates` keeps one clip of those that
    show the same. `require_terms` refuses what has no licence or no consent, whoever wants it.
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


class Measures(Value):
    """What was measured in a clip; None where it could not be.

    `seconds` is its length, `face_share` the share of sampled seconds with a frontal face,
    `still_share` and `credits_share` the shares of its time in which nothing moves and in which
    lettering stands on an even ground.
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


class Reason(Value):
    """Why a clip is refused: the rule of the plan, what was measured and the threshold."""

    rule: str
    measure: str
    threshold: str
    detail: str = ""

    def __str__(self) -> str:
        found = f"{self.rule}: {self.measure} (threshold {self.threshold})"
        return f"{found}, {self.detail}" if self.detail else found


TERMS = "require_terms"
"""The rule that no decision of a person overrides."""


def reasons_against(measures: Measures, rules: ScreeningRules) -> tuple[Reason, ...]:
    """Return every reason that `measures` give; what was not measured gives none."""
    return (*_below(measures, rules), *_above(measures, rules), *_language(measures, rules))


def reason_of_terms(
    licence: str | None, consent: str | None, rules: ScreeningRules
) -> tuple[Reason, ...]:
    """Return the reason that lacking terms give where the rules ask for them."""
    lacking = [name for name, given in (("licence", licence), ("consent", consent)) if not given]
    if not (rules.require_terms and lacking):
        return ()
    return (Reason(rule=TERMS, measure=f"no {' and no '.join(lacking)}", threshold="both"),)


def _below(measures: Measures, rules: ScreeningRules) -> Iterator[Reason]:
    pairs = (
        ("min_speech_seconds", measures.speech_seconds, rules.min_speech_seconds),
        ("min_face_share", measures.face_share, rules.min_face_share),
        ("min_blur", measures.blur, rules.min_blur),
        ("min_brightness", measures.brightness, rules.min_brightness),
        ("min_turns", measures.turns, rules.min_turns),
    )
    for rule, measure, threshold in pairs:
        if measure is not None and measure < threshold:
            yield Reason(rule=rule, measure=f"{measure:g}", threshold=f"{threshold:g}")


def _above(measures: Measures, rules: ScreeningRules) -> Iterator[Reason]:
    pairs = (
        ("max_brightness", measures.brightness, rules.max_brightness),
        ("max_still_share", measures.still_share, rules.max_still_share),
        ("max_credits_share", measures.credits_share, rules.max_credits_share),
    )
    for rule, measure, threshold in pairs:
        if measure is not None and measure > threshold:
            yield Reason(rule=rule, measure=f"{measure:g}", threshold=f"{threshold:g}")


def _language(measures: Measures, rules: ScreeningRules) -> Iterator[Reason]:
    heard, sure = measures.language, measures.language_probability or 0.0
    if not rules.languages or heard is None or sure < rules.min_language_probability:
        return
    if heard not in rules.languages:
        wanted = ", ".join(rules.languages)
        yield Reason(rule="languages", measure=f"{heard} ({sure:.2f})", threshold=wanted)

"""What audits take and give: frozen values. Times are seconds from the episode's start."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from psychemme.episode import Episode, Value
from psychemme.items import Cue, KeyPoint, Option
from psychemme.vocabulary import Format

Kind = Literal["item", "set"]
Unit = Literal["item", "option", "pair", "episode"]


class AuditItem(Value):
    """One item, wherever it comes from.

    `answer` holds option ids, or the text of an open answer. `shown` are the option ids in the
    order in which they are presented; empty means the order of `options`. `capability` and
    `episode_id` are empty, `episode` None, where an import does not say.
    """

    id: str = Field(min_length=1)
    episode_id: str = ""
    capability: str = ""
    subcategory: str = ""
    format: Format
    question: str
    options: tuple[Option, ...] = ()
    answer: str | tuple[str, ...]
    shown: tuple[str, ...] = ()
    cues: tuple[Cue, ...] = ()
    key_points: tuple[KeyPoint, ...] = ()
    decision_time: float | None = None
    episode: Episode | None = None

    @property
    def right(self) -> frozenset[str]:
        """The ids of the correct options; empty for open questions."""
        if not self.format.is_choice:
            return frozenset()
        return frozenset([self.answer] if isinstance(self.answer, str) else self.answer)

    @property
    def right_texts(self) -> tuple[str, ...]:
        """The texts of the correct options, or the open answer."""
        if not self.format.is_choice:
            return (self.answer,) if isinstance(self.answer, str) else ()
        return tuple(option.text for option in self.options if option.id in self.right)

    @property
    def single_answer(self) -> Option | None:
        """The correct option of a sound `single` item, None for all others."""
        right = self.right
        if self.format is not Format.SINGLE or len(right) != 1 or len(self.options) < 2:
            return None
        return next((option for option in self.options if option.id in right), None)


class Finding(Value):
    """Why an item offends, as plain text."""

    item_id: str
    detail: str


class Share(Value):
    """A count with its fraction and 95% interval, and what was `expected` of the fraction."""

    count: int
    of: int
    rate: float | None = None
    low: float | None = None
    high: float | None = None
    expected: float | None = None
    statistic: float | None = None
    p_value: float | None = None
    note: str = ""


class AuditResult(Share):
    """What one audit found: `count` of `of` observations, each a `unit`.

    `rate`, `low` and `high` are fractions and a 95% interval, None where `why` says why they are
    undefined or the audit was not run. `is_flagged` says that the set as a whole is at fault;
    `findings` are the offending items, in the items' order. Of the items in `unknown` it cannot
    tell whether they pass.
    """

    audit: str
    title: str
    kind: Kind
    unit: Unit = "item"
    by_capability: Mapping[str, Share] = {}
    findings: tuple[Finding, ...] = ()
    unknown: tuple[str, ...] = ()
    is_flagged: bool = False
    why: str = ""


class AuditSettings(Value):
    """The thresholds of the audits; shares and similarities are fractions, widths seconds.

    `question_similarity` is the Jaccard similarity of five-character shingles,
    `embedding_similarity` the cosine of two questions' vectors, `echo` the share of
    a reference's content words that the question holds, `outcome` the share of them that is said
    after the decision time. A cue may be `cue_widest` of its episode wide at most, or as wide as
    `cue_always` seconds.
    """

    significance: float = Field(default=0.01, gt=0, lt=1)
    options_most: int = Field(default=10, ge=2, le=26)
    question_similarity: float = Field(default=0.8, ge=0.5, le=1)
    embedding_similarity: float = Field(default=0.92, ge=0, le=1)
    echo: float = Field(default=0.75, gt=0, le=1)
    outcome: float = Field(default=0.8, gt=0, le=1)
    opening_words: int = Field(default=3, ge=1)
    opening_share: float = Field(default=0.25, gt=0, le=1)
    distinct: float = Field(default=0.3, ge=0, le=1)
    cue_narrowest: float = Field(default=0.1, ge=0)
    cue_widest: float = Field(default=0.9, gt=0, le=1)
    cue_always: float = Field(default=30.0, ge=0)
    early_share: float = Field(default=0.5, gt=0, le=1)
    capability_share: float = Field(default=0.5, gt=0, le=1)
    format_share: float = Field(default=0.95, gt=0, le=1)
    fewest: int = Field(default=20, ge=1)

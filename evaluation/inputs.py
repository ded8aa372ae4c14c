"""What a model gets to see: conditions, history and the common input policy.

Native video and native audio come first, each on its own, and only in the full condition; frames
and the transcript stand in for what a model does not take (paper, Appendix D.2, I and J). All
other conditions run on frames and transcript whatever the model could take, so that they differ in
nothing but what they leave out.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from random import Random

from pydantic import Field

from psychemme.clients.cards import ModelCard
from psychemme.episode import Episode, HistoryEntry, Utterance, Value
from psychemme.errors import ConfigError, RunError
from psychemme.release.read import Release
from psychemme.release.rows import Earlier, EpisodeRow, QuestionRow
from psychemme.vocabulary import Capability

MOST_FRAMES = 64
_MATCHED, _NONE, _MISMATCHED = "matched", "none", "mismatched"
_LABEL = re.compile(
    r"(?P<condition>[a-z-]+)"
    rf"(\+history-(?P<history>{_NONE}|{_MISMATCHED})(:(?P<history_seed>[0-9]{{1,19}}))?)?"
    r"(\+frames-(?P<frames>[0-9]{1,2})(\+(?P<keyframes>bolt))?)?"
    r"(\+order-(?P<order>[0-9]{1,9}):(?P<order_seed>[0-9]{1,19}))?"
)


class Condition(StrEnum):
    """Which parts of the recording are given."""

    FULL = "full"
    QUESTION_ONLY = "question-only"
    ASR_ONLY = "asr-only"
    VISUAL_ONLY = "visual-only"
    SINGLE_IMAGE = "single-image"


class FrameSource(StrEnum):
    """Which pictures are given."""

    NONE = "none"
    SAMPLED = "sampled"
    MIDPOINT = "midpoint"


class Keyframes(StrEnum):
    """How a number of frames is chosen: evenly in time, or by likeness to the question."""

    UNIFORM = "uniform"
    BOLT = "bolt"


class InputPolicy(Value):
    """What to give. `history` is `matched`, `none` or `mismatched`, the last with `history_seed`.

    `frames` is how many pictures are taken from an episode; None is one a second, at most 64.
    `keyframes` says how they are chosen, by `embedding_model` where that is `bolt`. `max_side` is
    in pixels. `order` is the option order, 0 the release's own, any other drawn with `order_seed`.
    """

    condition: Condition = Condition.FULL
    history: str = Field(default=_MATCHED, pattern=f"^({_MATCHED}|{_NONE}|{_MISMATCHED})$")
    history_seed: int | None = None
    frames: int | None = Field(default=None, ge=0, le=MOST_FRAMES)
    keyframes: Keyframes = Keyframes.UNIFORM
    embedding_model: str | None = None
    max_side: int = Field(default=512, ge=32)
    order: int = Field(default=0, ge=0)
    order_seed: int | None = None

    @property
    def label(self) -> str:
        """The name of this condition in files and tables; the plain condition by default."""
        seed = "" if self.history_seed is None else f":{self.history_seed}"
        history = "" if self.history == _MATCHED else f"+history-{self.history}{seed}"
        frames = "" if self.frames is None else f"+frames-{self.frames}"
        chosen = "" if self.keyframes is Keyframes.UNIFORM else f"+{self.keyframes}"
        order = f"+order-{self.order}:{self.order_seed}" if self.order else ""
        return f"{self.condition}{history}{frames}{chosen}{order}"

    @classmethod
    def of_label(cls, text: str) -> "InputPolicy | None":
        """Return the policy whose label is `text`, None where no policy has it.

        A label names no embedding model and no size of pictures.
        """
        if (found := _LABEL.fullmatch(text)) is None:
            return None
        known = {name: value for name, value in found.groupdict().items() if value is not None}
        try:
            policy = cls.model_validate(known)
        except ValueError:
            return None
        return policy if policy.label == text else None

    def gives(self, card: ModelCard) -> "Given":
        """Return what a model with `card` is given under this policy."""
        # A set number of frames is a control too.
        is_full = self.condition is Condition.FULL and self.frames is None
        video = is_full and card.native_video
        audio = is_full and card.native_audio
        unseen = self.condition in (Condition.QUESTION_ONLY, Condition.ASR_ONLY)
        pictures = FrameSource.SAMPLED
        if video or unseen or self.frames == 0 or card.images.most == 0:
            pictures = FrameSource.NONE
        elif self.condition is Condition.SINGLE_IMAGE:
            pictures = FrameSource.MIDPOINT
        hears = self.condition not in (Condition.QUESTION_ONLY, Condition.VISUAL_ONLY)
        return Given(video=video, audio=audio, frames=pictures, transcript=hears and not audio)


class Given(Value):
    """Which media and texts go into a request; with `video` and `audio` both, one file has both."""

    video: bool
    audio: bool
    frames: FrameSource
    transcript: bool

    @property
    def needs_clip(self) -> bool:
        """Whether the clip's file is needed at all."""
        return self.video or self.audio or self.frames is not FrameSource.NONE


def make_policy(
    condition: str,
    history: str,
    frames: int | None = None,
    keyframes: str = Keyframes.UNIFORM,
    embedding_model: str | None = None,
) -> InputPolicy:
    """Return the policy in the words of the command line; raises ConfigError naming the rule."""
    if condition not in list(Condition):
        raise ConfigError(
            f"There is no condition {condition!r}.", f"Use one of: {', '.join(Condition)}."
        )
    kind, seed = read_history(history)
    if condition == Condition.QUESTION_ONLY and kind != _MATCHED:
        raise ConfigError(
            "The condition question-only gives no history at all.", "Leave out --history."
        )
    policy = InputPolicy(
        condition=Condition(condition), history=kind, history_seed=seed, frames=frames
    )
    if keyframes == Keyframes.UNIFORM:
        return policy
    _refuse_keyframes(policy, keyframes, embedding_model)
    return policy.model_copy(
        update={"keyframes": Keyframes(keyframes), "embedding_model": embedding_model}
    )


def _refuse_keyframes(policy: InputPolicy, keyframes: str, embedding_model: str | None) -> None:
    if keyframes not in list(Keyframes):
        raise ConfigError(
            f"There is no choice of keyframes {keyframes!r}.",
            f"Use one of: {', '.join(Keyframes)}.",
        )
    if not policy.frames or policy.condition not in (Condition.FULL, Condition.VISUAL_ONLY):
        raise ConfigError(
            f"--keyframes {keyframes} chooses frames, and {policy.label} gives no set number.",
            "Add --frames N, with the condition full or visual-only.",
        )
    if not embedding_model:
        raise ConfigError(
            f"--keyframes {keyframes} needs a model that embeds pictures and text.",
            "Set PSYCHEMME_EMBEDDING_MODEL to its name; docs/models.md says what it must answer.",
        )


def read_history(text: str) -> tuple[str, int | None]:
    """Return kind and seed of `matched`, `none` or `mismatched:SEED`; raises ConfigError."""
    kind, colon, seed = text.partition(":")
    if kind == _MISMATCHED and seed.isdecimal():
        return kind, int(seed)
    if kind in (_MATCHED, _NONE) and not colon:
        return kind, None
    raise ConfigError(
        f"History {text!r} is none of matched, none and mismatched:SEED.",
        "Use for example --history mismatched:42.",
    )


def cohort(release: Release, policy: InputPolicy) -> tuple[str, ...]:
    """Return the ids a run asks about: all, or where history is withheld those that have one.

    Raises RunError where history is withheld and no Memory item has any.
    """
    if policy.history == _MATCHED:
        return tuple(release.questions)
    found = tuple(
        question.id
        for question in release.questions.values()
        if question.capability is Capability.MEMORY and question.history
    )
    if not found:
        raise RunError(
            "No Memory item of this release has a history to withhold.",
            "Leave out --history, or choose a release with Memory items.",
        )
    return found


def donors(release: Release, ids: Sequence[str], seed: int) -> dict[str, str]:
    """Return for each item the one whose history it gets instead of its own.

    Recording groups are exchanged by a seeded derangement, so that no item gets a history from its
    own recording; of the group that a group gets, the history closest in length is taken. Raises
    RunError where all histories come from one group.
    """
    groups: dict[str, list[QuestionRow]] = {}
    for question in (release.questions[name] for name in ids):
        group = release.episodes[question.episode_id].recording_group
        groups.setdefault(group, []).append(question)
    if len(groups) < 2:
        raise RunError(
            "Every history of this release comes from one recording group.",
            "A mismatched history needs two groups or more.",
        )
    given = _derangement(sorted(groups), Random(seed))  # noqa: S311 - a seeded control
    return {
        question.id: _closest(question, groups[given[group]])
        for group, members in sorted(groups.items())
        for question in members
    }


def history_of(
    question: QuestionRow, release: Release, policy: InputPolicy, given: Mapping[str, str]
) -> tuple[Earlier, ...]:
    """Return the history that `question` is asked with; `given` maps items to donors."""
    if policy.history == _NONE:
        return ()
    donor = given.get(question.id)
    return question.history if donor is None else release.questions[donor].history


def shown(
    question: QuestionRow,
    episode: EpisodeRow,
    history: Sequence[Earlier],
    policy: InputPolicy,
    given: Given,
) -> Episode | None:
    """Return the texts of a request; None where the question and its options stand alone."""
    if policy.condition is Condition.QUESTION_ONLY:
        return None
    lines = episode.transcript if given.transcript else ()
    return Episode(
        duration=episode.duration,
        public_context=question.public_context,
        transcript=tuple(Utterance(start=x.start, end=x.end, text=x.text) for x in lines),
        history=tuple(HistoryEntry(before=entry.before, text=entry.text) for entry in history),
    )


def _derangement(names: list[str], chance: Random) -> dict[str, str]:
    while True:
        other = chance.sample(names, len(names))
        if all(one != two for one, two in zip(names, other, strict=True)):
            return dict(zip(names, other, strict=True))


def _closest(question: QuestionRow, others: Sequence[QuestionRow]) -> str:
    length = _length(question)
    return min(others, key=lambda other: (abs(_length(other) - length), other.id)).id


def _length(question: QuestionRow) -> int:
    return sum(len(entry.text) for entry in question.history)

"""From responses, judgements and references to the scores of items.

Every planned item is in the denominator. What a model is to blame for scores 0; what the machinery
is to blame for leaves an item unscored, which stops scoring or turns points into bounds.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from evaluation.contradictions import count_contradictions
from evaluation.exports import read_responses
from evaluation.files import MISSING, chosen_of_file, read_files
from evaluation.judge import Judgement, covered, reference_digest
from evaluation.judged import chosen, read_judgements
from evaluation.manifest import read_manifest, release_of
from evaluation.responses import Response
from evaluation.scoring import ItemScore, Scores, ScoringError, score_run
from evaluation.store import RunStore
from psychemme.answers import same_choice
from psychemme.canonical import digest
from psychemme.release.read import Release, read_release
from psychemme.release.rows import QuestionRow, ReferenceRow
from psychemme.vocabulary import Capability


@dataclass(frozen=True)
class ScoredRun:
    """The item scores of one run, in ascending order of item id.

    `checksum` stands for what the release shows models and for its references.
    `failures` counts responses without an answer that the model is to blame for, by reason;
    `unscored` counts items that nobody could score, by reason; `flagged` counts judgements that
    contradict their own text, by how, which changes no score.
    """

    model: str
    condition: str
    checksum: str
    declared: tuple[Capability, ...]
    items: tuple[ItemScore, ...]
    failures: Mapping[str, int]
    unscored: Mapping[str, int]
    flagged: Mapping[str, int] = field(default_factory=dict)
    is_self: bool = False

    @property
    def name(self) -> str:
        """What tells this run from others in a table."""
        return f"{self.model} ({self.condition})"

    def bounds(self) -> tuple[Scores, Scores]:
        """Return the scores with every unknown at its worst and at its best; equal without any."""
        low = score_run([item.filled(0) for item in self.items], self.declared)
        high = score_run([item.filled(1) for item in self.items], self.declared)
        return low, high


def score_folder(
    folder: Path, release: Path | None = None, judge: str | None = None, repeat: int = 0
) -> ScoredRun:
    """Return the scores of the run at `folder` under one judge's labels.

    Raises ReleaseError where the release is not the run's, ConfigError where `judge` is unclear.
    """
    manifest = read_manifest(folder)
    found = release_of(manifest, release)
    with RunStore(folder, for_reading=True) as store:
        responses = read_responses(manifest, found, store)
        judgements = chosen(read_judgements(manifest, found, store), judge, repeat)
    scored = replace(score_responses(found, responses, judgements), is_self=manifest.is_self)
    return _with_flags(scored, judgements)


def score_files(
    root: Path,
    responses: Path,
    judgements: Path | None,
    judge: str | None = None,
    repeat: int = 0,
) -> list[ScoredRun]:
    """Return the scores of every model and condition in files made elsewhere.

    Raises ReleaseError and ScoringError, the latter also for judgements of no response, and
    ConfigError where `judge` is unclear.
    """
    release = read_release(root)
    scored = []
    for run in read_files(release, responses, judgements).values():
        taken = chosen_of_file(run.judged, judge, repeat)
        scored.append(_with_flags(score_responses(release, run.responses, taken), taken))
    return scored


def _with_flags(run: ScoredRun, judgements: Mapping[str, Judgement]) -> ScoredRun:
    return replace(run, flagged=count_contradictions(judgements.values()))


def score_responses(
    release: Release, responses: Mapping[str, Response], judgements: Mapping[str, Judgement]
) -> ScoredRun:
    """Return the scores of one run's responses, by item id."""
    references = release.references()
    items, failures, unscored = [], Counter[str](), Counter[str]()
    for name, response in sorted(responses.items()):
        question = release.questions[name]
        item = _item_score(release, question, references[name], response, judgements.get(name))
        items.append(item)
        if response.outcome.is_models_fault:
            failures[response.reason or response.outcome] += 1
        elif not item.scored:
            unscored[why_unscored(response)] += 1
    first = next(iter(responses.values()), None)
    return ScoredRun(
        model=first.model if first else "",
        condition=first.condition if first else "",
        checksum=digest([release.checksum, [reference_digest(r) for r in references.values()]]),
        declared=release.manifest.capabilities,
        items=tuple(items),
        failures=dict(sorted(failures.items())),
        unscored=dict(sorted(unscored.items())),
    )


def why_unscored(response: Response) -> str:
    """Return the reason of an unscored item: no line, the machinery's fault, or no judgement."""
    if response.reason == MISSING:
        return MISSING
    return response.outcome if response.outcome.is_unscored else "not_judged"


def _item_score(
    release: Release,
    question: QuestionRow,
    reference: ReferenceRow,
    response: Response,
    judgement: Judgement | None,
) -> ItemScore:
    a, c = _answer_credit(question, reference, response, judgement), _coverage(question, response)
    explained = judgement if c == 1 else None
    return ItemScore.model_validate(
        {
            "item_id": question.id,
            "episode_id": question.episode_id,
            "recording_group": release.episodes[question.episode_id].recording_group,
            "capability": question.capability,
            "format": question.format,
            "a": a,
            "c": c,
            "support": explained.evidence_support if explained else None,
            "logic": explained.logical_integrity if explained else None,
        }
    )


def choice_credit(
    question: QuestionRow, reference: ReferenceRow, response: Response
) -> float | None:
    """Return the answer credit that needs no judge: 1 or 0, None where the item is unscored."""
    if response.outcome.is_unscored:
        return None
    if response.answer is None:
        return 0.0
    return float(same_choice(question.format, response.answer, reference.answer))


def _answer_credit(
    question: QuestionRow,
    reference: ReferenceRow,
    response: Response,
    judgement: Judgement | None,
) -> float | None:
    if question.format.is_choice or response.answer is None:
        return choice_credit(question, reference, response)
    return None if judgement is None else judgement.answer_credit


def _coverage(question: QuestionRow, response: Response) -> int | None:
    return None if response.outcome.is_unscored else covered(response, question)


FILL_RUN = "Resume `evaluate` or run `psychemme judge` to fill the gaps"
FILL_FILES = "Add the lines that are missing to --responses and --judgements"


def refuse_unscored(
    runs: Sequence[ScoredRun], fill: str = FILL_RUN, *, has_bounds: bool = True
) -> None:
    """Raise ScoringError with the count and the reasons where an item is unscored.

    The next action is to `fill` the gaps or, where the verb `has_bounds`, to ask for those.
    """
    bounds = ", or add --allow-unscored for bounds" if has_bounds else ""
    for run in runs:
        if count := sum(not item.scored for item in run.items):
            reasons = ", ".join(f"{reason} {n}" for reason, n in run.unscored.items())
            raise ScoringError(
                f"{run.name}: {count} of {len(run.items)} items are unscored ({reasons}).",
                f"{fill}{bounds}.",
            )

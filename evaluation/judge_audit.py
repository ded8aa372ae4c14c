"""Audit a judge: have it label a sample of responses again with one thing altered.

- `reference_hidden`: the reference answer and the key points are not shown, the cues are. Labels
  that shift rest on whether the answer is right.
- `foreign_cues`: the cues are those of an item of another episode, of the same capability and
  another recording group where there is one. Evidence Support must fall.
- `fields_permuted`: the informative rationales swap their field names in one random cycle; a single
  one swaps with another of the eight. Labels that shift rest on names.

Sample, donors and cycles follow from the seed and the item alone, so that a larger sample holds a
smaller one and nothing is asked twice. What comes back is kept apart from judgements and scores
nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from random import Random

from evaluation.exports import read_responses
from evaluation.judge import Case, Judgement, covered
from evaluation.judge_shifts import (
    Audit,
    Labelled,
    Variant,
    VariantShifts,
    audit_of,
    keep_audit,
    variant_shifts,
)
from evaluation.judging import Judging
from evaluation.rationales import coverage
from evaluation.responses import Response
from psychemme.canonical import digest
from psychemme.errors import RunError
from psychemme.release.read import Release
from psychemme.release.rows import QuestionRow, ReferenceRow
from psychemme.vocabulary import Capability

SAMPLE = 100
SEED = 42
HIDDEN = "not shown"


class NothingToAudit(RunError):
    """No response of the run that a label of Evidence Support could count for was labelled."""


async def audit_judge(job: Judging, sample: int = SAMPLE, seed: int = SEED) -> Audit:
    """Return, and keep in the run's folder, how a judge's labels shift over `sample` responses.

    They are compared with its first repeat.

    Raises NothingToAudit where it labelled none, Stopped and EndpointError as judging does.
    """
    judged = job.judgements().get((job.model, 0), {})
    cases = _explained(job, judged)
    if not cases:
        raise NothingToAudit(
            f"{job.model} has labelled no explained response of {job.folder}.",
            "Run `psychemme judge` without --audit first; a baseline explains nothing.",
        )
    chosen = [cases[name] for name in sample_of(cases, sample, seed)]
    altered = alter(job.release, chosen, seed)
    await job.settle([case for some in altered.values() for case in some])
    relabelled = job.store.audits(job.model)
    variants = [
        _shifts(job.release, variant, len(chosen), some, judged, relabelled)
        for variant, some in altered.items()
    ]
    found = audit_of(job.model, seed, len(cases), len(chosen), variants)
    keep_audit(job.folder, found)
    return found


def _explained(job: Judging, judged: Mapping[str, str]) -> dict[str, Case]:
    """Return the judged responses whose labels count: those with an informative rationale."""
    references = job.release.references()
    responses = read_responses(job.manifest, job.release, job.store)
    cases = [
        Case(job.release.questions[name], references[name], responses[name]) for name in judged
    ]
    return {case.question.id: case for case in cases if covered(case.response, case.question)}


def _shifts(
    release: Release,
    variant: Variant,
    sampled: int,
    cases: Sequence[Case],
    judged: Mapping[str, str],
    relabelled: Mapping[tuple[str, str], str],
) -> VariantShifts:
    pairs = [
        Labelled(
            question.episode_id,
            question.capability,
            Judgement.model_validate_json(judged[question.id]),
            Judgement.model_validate_json(relabelled[question.id, change]),
        )
        for case in cases
        for question, change in ((case.question, case.key[2]),)
        if (question.id, change) in relabelled
    ]
    return variant_shifts(variant, sampled, len(cases), pairs, release.manifest.capabilities)


def sample_of(names: Iterable[str], size: int, seed: int) -> list[str]:
    """Return `size` of `names`, fewer where there are not so many, as the seed orders them."""
    return sorted(names, key=lambda name: digest([seed, name]))[:size]


def alter(release: Release, cases: Sequence[Case], seed: int) -> dict[Variant, list[Case]]:
    """Return the cases of each variant; an item without a possible donor keeps no foreign cues."""
    references = release.references()
    foreign = [
        with_cues_of(case, references[donor])
        for case in cases
        if (donor := donor_of(release, references, case.question, seed)) is not None
    ]
    return {
        Variant.REFERENCE_HIDDEN: [with_hidden_reference(case) for case in cases],
        Variant.FOREIGN_CUES: foreign,
        Variant.FIELDS_PERMUTED: [with_permuted_fields(case, seed) for case in cases],
    }


def with_hidden_reference(case: Case) -> Case:
    """Return the case without reference answer and key points."""
    reference = case.reference.model_copy(update={"answer": HIDDEN, "key_points": ()})
    return case._replace(reference=reference, change=Variant.REFERENCE_HIDDEN)


def with_cues_of(case: Case, donor: ReferenceRow) -> Case:
    """Return the case with the donor's cues in place of its own."""
    reference = case.reference.model_copy(update={"cues": donor.cues})
    return case._replace(reference=reference, change=f"{Variant.FOREIGN_CUES}:{donor.id}")


def donor_of(
    release: Release, references: Mapping[str, ReferenceRow], item: QuestionRow, seed: int
) -> str | None:
    """Return the item whose cues `item` gets, None where no other episode has cues of its own.

    An item that shares a cue's description is no donor.
    """
    own = _described(references[item.id])
    ranked: dict[tuple[bool, bool], list[str]] = {}
    for other in release.questions.values():
        cues = _described(references[other.id])
        if other.episode_id != item.episode_id and cues and own.isdisjoint(cues):
            group, others = (
                release.episodes[row.episode_id].recording_group for row in (item, other)
            )
            rank = (other.capability is not item.capability, group == others)
            ranked.setdefault(rank, []).append(other.id)
    if not ranked:
        return None
    return Random(f"{seed}:{item.id}").choice(sorted(ranked[min(ranked)]))  # noqa: S311


def _described(reference: ReferenceRow) -> set[str]:
    return {cue.description for cue in reference.cues}


def with_permuted_fields(case: Case, seed: int) -> Case:
    """Return the case with each informative rationale under another field's name."""
    chance = Random(f"{seed}:{case.question.id}")  # noqa: S311
    told = case.response.rationales
    names = [name for name in Capability if _is_informative(case, told.get(name))]
    if len(names) == 1:
        names.append(chance.choice([name for name in Capability if name not in names]))
    chance.shuffle(names)
    moves = dict(zip(names, [*names[1:], *names[:1]], strict=True))
    moved = {**told, **{new: told.get(old) for old, new in moves.items()}}
    response: Response = case.response.model_copy(update={"rationales": moved})
    listed = ",".join(f"{old}>{new}" for old, new in sorted(moves.items()))
    return case._replace(response=response, change=f"{Variant.FIELDS_PERMUTED}:{listed}")


def _is_informative(case: Case, rationale: str | None) -> bool:
    answer, question = case.response.answer, case.question
    if answer is None:
        return False
    return coverage([rationale], answer, question.question, question.options) == 1

"""The knowledge base as values: what the agents, the baselines and the reviewers share.

References (citation keys, subcategory ids) are checked against the validation context, where one
is given, so that every dangling one is reported together with every other fault of the file.
"""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from psychemme.canonical import digest
from psychemme.episode import Value
from psychemme.vocabulary import Capability, Format, SkipReason
from psychemme.vocabulary import Verdict as VerdictId

Trigger = Literal["refusal", "request", "ongoing_speech", "distress", "preference", "offer"]
"""What happens in the episode that a norm speaks to."""


def _known(kind: str) -> AfterValidator:
    def check(value: str, info: ValidationInfo) -> str:
        if info.context is not None and value not in info.context[kind]:
            raise ValueError(f"no {kind} entry has the id {value!r}")
        return value

    return AfterValidator(check)


Text = Annotated[str, Field(min_length=1)]
Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
CitationKey = Annotated[str, _known("citation")]
SubcategoryId = Annotated[str, _known("subcategory")]
DomainId = Annotated[str, _known("domain")]
Sources = Annotated[tuple[CitationKey, ...], Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], Field(min_length=1)]


class Domain(Value):
    """A group of capabilities."""

    id: Slug
    name: Text
    summary: Text


class Subcategory(Value):
    """A kind of question within a capability; its id is unique in the knowledge base."""

    id: Slug
    name: Text
    definition: Text


class CapabilityCard(Value):
    """What one capability asks, what a question needs in support, and how it is reviewed.

    `formats` are those allowed. `decision_time` says that a question asks about a moment, after
    which the footage shows the outcome; `needs_history` that it cannot do without history.
    """

    code: Capability
    name: Text
    domain: DomainId
    definition: Text
    required_cues: Text
    review_criterion: Text
    boundaries: Texts
    subcategories: Annotated[tuple[Subcategory, ...], Field(min_length=1)]
    formats: Annotated[tuple[Format, ...], Field(min_length=1)]
    decision_time: bool = False
    needs_history: bool = False
    sources: Sources


class Distinction(Value):
    """One situation and what each capability would judge in it."""

    id: Slug
    situation: Text
    judgments: Annotated[dict[Capability, Text], Field(min_length=1)]
    sources: Sources


class Norm(Value):
    """What fits after `trigger`, as a defeasible rule with ready-made option texts.

    `fitting` and `unfitting` are utterances for S and descriptions of conduct otherwise.
    `intrusive_markers` and `restrained_markers` are lower-case phrases to be found on word
    boundaries in any wording; the first also mark brushing a person aside.
    """

    id: Slug
    trigger: Trigger
    applies_to: Annotated[tuple[Capability, ...], Field(min_length=1)]
    subcategories: tuple[SubcategoryId, ...] = ()
    principle: Text
    fitting: Texts
    unfitting: Texts
    intrusive_markers: Texts
    restrained_markers: Texts
    sources: Sources


class KnowledgeBase(Value):
    """One profile's taxonomy, distinctions and norms."""

    id: Slug
    version: Text
    title: Text
    domains: tuple[Domain, ...]
    capabilities: tuple[CapabilityCard, ...]
    distinctions: tuple[Distinction, ...]
    norms: tuple[Norm, ...]

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if faults := [*_duplicates(self), *_misplaced(self)]:
            raise ValueError("; ".join(faults))
        return self

    def card(self, capability: Capability) -> CapabilityCard:
        """Return the card of `capability`; raises KeyError where the profile lacks it."""
        return {card.code: card for card in self.capabilities}[capability]

    def norms_for(self, capability: Capability) -> tuple[Norm, ...]:
        """Return the norms that apply to `capability`, in file order."""
        return tuple(norm for norm in self.norms if capability in norm.applies_to)

    @property
    def hash(self) -> str:
        """The SHA-256 of this value's canonical JSON (hex)."""
        return digest(self.model_dump(mode="json"))


class Reason(Value):
    """Why a reviewer rejects; `applies_to` is empty where it fits every capability."""

    id: Slug
    text: Text
    applies_to: tuple[Capability, ...] = ()


class Skip(Value):
    """Why a reviewer leaves an item to somebody else."""

    id: SkipReason
    text: Text


class Verdict(Value):
    """One judgement a reviewer gives, with the reasons for a rejection."""

    id: VerdictId
    question: Text
    guidance: Text
    reject_reasons: Annotated[tuple[Reason, ...], Field(min_length=1)]


class ReviewForm(Value):
    """What reviewers are asked about an item once their own answer is committed."""

    id: Slug
    version: Text
    title: Text
    verdicts: Annotated[tuple[Verdict, ...], Field(min_length=1)]
    skip_reasons: Annotated[tuple[Skip, ...], Field(min_length=1)]
    sources: Sources

    @model_validator(mode="after")
    def _unique(self) -> Self:
        reasons = [reason.id for verdict in self.verdicts for reason in verdict.reject_reasons]
        reasons += [str(reason.id) for reason in self.skip_reasons]
        faults = _repeated("verdict", [str(verdict.id) for verdict in self.verdicts])
        if faults := [*faults, *_repeated("reason", reasons)]:
            raise ValueError("; ".join(faults))
        return self


def _repeated(kind: str, ids: list[str]) -> list[str]:
    return [f"{kind} {name!r} is given twice" for name in sorted(set(ids)) if ids.count(name) > 1]


def _duplicates(kb: KnowledgeBase) -> list[str]:
    groups = {
        "domain": [domain.id for domain in kb.domains],
        "capability": [card.code.value for card in kb.capabilities],
        "subcategory": [sub.id for card in kb.capabilities for sub in card.subcategories],
        "distinction": [distinction.id for distinction in kb.distinctions],
        "norm": [norm.id for norm in kb.norms],
    }
    return [fault for kind, ids in groups.items() for fault in _repeated(kind, ids)]


def _misplaced(kb: KnowledgeBase) -> list[str]:
    """Find capabilities that are used without a card, and norms that name others' subcategories."""
    home = {sub.id: card.code for card in kb.capabilities for sub in card.subcategories}
    cards = {card.code for card in kb.capabilities}
    faults = [
        f"norm {norm.id!r} names subcategory {name!r} of {home[name]}, to which it does not apply"
        for norm in kb.norms
        for name in norm.subcategories
        if home.get(name, norm.applies_to[0]) not in norm.applies_to
    ]
    used = {code for norm in kb.norms for code in norm.applies_to}
    used |= {code for distinction in kb.distinctions for code in distinction.judgments}
    return faults + [f"capability {code.value!r} is used but has no card" for code in used - cards]

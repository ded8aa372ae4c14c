"""What each node of the graph does: read through its own store, ask or compute, write once.

Every node is an idempotent step: when its row exists it does nothing, so a killed run repeats only
the calls that were in flight.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from construction import checks, routing
from construction.agents import Agent, Task
from construction.presentation import present, presentation_order, restore
from psychemme.answers import fits
from psychemme.canonical import canonical_json
from psychemme.items import Critique, Defect, IndependentAnswer, Option, Proposal, Reference
from psychemme.vocabulary import CandidateState, Capability, Format, Route, Step
from psychology_kb.load import KnowledgeBase, Norm
from state.runs import RunStore
from state.stores import AnswerStore, CriticStore, QuestionStore
from state.values import Dossier, RoundRecord

if TYPE_CHECKING:
    from construction.graph import GraphState

_SOUND, _DEFECTIVE, _DECLINED = "sound", "defective", "declined"


@dataclass(frozen=True)
class Nodes:
    """The five nodes, bound to their agents; check and route are code, without a model."""

    question: Agent[Proposal, QuestionStore]
    answerer: Agent[IndependentAnswer, AnswerStore]
    critic: Agent[Critique, CriticStore]
    runs: RunStore
    knowledge: KnowledgeBase
    secret: bytes

    async def propose(self, state: "GraphState") -> dict[str, object]:
        """Question Agent: a question with its reference and cues, or an honest decline."""
        key, at, store = state["candidate_key"], state["round"], self.question.store
        if not await store.is_done(key, at, Step.PROPOSE):
            brief = await store.brief(key, at)
            inputs = {
                "episode": brief.material.episode,
                "card": self.knowledge.card(brief.target.capability),
                "norms": self._norms(brief.target.capability),
                "distinctions": self.knowledge.distinctions,
                "format": brief.target.format,
                "earlier": brief.earlier,
                "feedback": brief.feedback,
            }
            task = Task[Proposal](key, brief.target.id, at, inputs, brief.material.frames)
            await store.save(key, at, await self.question.ask(task))
        return {"route": None}

    async def check(self, state: "GraphState") -> dict[str, object]:
        """Code: a proposal it can refute gets no answer and no critique."""
        key, at = state["candidate_key"], state["round"]
        found = await self.runs.in_thread(lambda: self._check(key, at))
        return {"route": None if found == _SOUND else Route.REVISE_QUESTION}

    async def answer(self, state: "GraphState") -> dict[str, object]:
        """Answer Agent: an independent answer, options in an order of its own."""
        key, at, store = state["candidate_key"], state["round"], self.answerer.store
        if await store.is_done(key, at, Step.ANSWER):
            return {"route": None}
        brief = await store.brief(key, at)
        order = presentation_order(len(brief.options), brief.candidate_id, at, self.secret)
        shown = present(brief.options, order)
        inputs = {
            "episode": brief.material.episode,
            "norms": tuple(map(_without_examples, self.knowledge.norms)),
            "distinctions": self.knowledge.distinctions,
            "format": brief.format,
            "question": brief.question,
            "options": shown,
            "decision_time": brief.decision_time,
            "feedback": brief.feedback,
        }
        frames = brief.material.frames
        task = Task(key, brief.candidate_id, at, inputs, frames, _answer_fault(brief.format, shown))
        given = await self.answerer.ask(task)
        shown_ids = [brief.options[position].id for position in order]
        await store.save(key, at, restore(given, brief.options, order), shown_ids)
        return {"route": None}

    async def critique(self, state: "GraphState") -> dict[str, object]:
        """Critic Agent: verdicts on both paths, with closed codes."""
        key, at, store = state["candidate_key"], state["round"], self.critic.store
        if not await store.is_done(key, at, Step.CRITIQUE):
            brief = await store.brief(key, at)
            form = brief.target.format
            inputs = {
                "episode": brief.material.episode,
                "card": self.knowledge.card(brief.target.capability),
                "norms": self._norms(brief.target.capability),
                "distinctions": self.knowledge.distinctions,
                "format": form,
                "question": brief.question,
                "reference": brief.reference,
                "independent": brief.independent,
                "agreement": _choice_agreement(form, brief.reference, brief.independent),
            }
            fault = _critique_fault(form, brief.independent)
            task = Task(key, brief.target.id, at, inputs, brief.material.frames, fault)
            await store.save(key, at, await self.critic.ask(task))
        return {"route": None}

    async def route(self, state: "GraphState") -> dict[str, object]:
        """Code: accept, revise the question, answer again, or discard."""
        key, at = state["candidate_key"], state["round"]
        route = await self.runs.in_thread(lambda: self._route(key, at))
        goes_on = route in (Route.REVISE_QUESTION, Route.REANSWER)
        return {"route": route, "round": at + 1 if goes_on else at}

    def _norms(self, capability: Capability) -> tuple[Norm, ...]:
        return tuple(norm for norm in self.knowledge.norms if capability in norm.applies_to)

    def _check(self, key: str, at: int) -> str:
        dossier = self.runs.dossier(key)
        done = dossier.rounds[at].steps.get(Step.CHECK)
        outcome = done or self._check_outcome(dossier, dossier.rounds[at])
        if done is None:
            self.runs.record_step(key, at, Step.CHECK, outcome)
        return outcome

    def _check_outcome(self, dossier: Dossier, record: RoundRecord) -> str:
        if record.question is None:
            return _DECLINED
        return _DEFECTIVE if self._defects(dossier, record) else _SOUND

    def _defects(self, dossier: Dossier, record: RoundRecord) -> tuple[Defect, ...]:
        if record.question is None or record.reference is None:
            return ()
        target = dossier.outcome.target
        card = self.knowledge.card(target.capability)
        return checks.defects(
            record.question, record.reference, target.format, card, dossier.episode.content
        )

    def _route(self, key: str, at: int) -> Route:
        dossier = self.runs.dossier(key)
        decision = self._decide(dossier, dossier.rounds[at])
        self.runs.record_step(
            key,
            at,
            Step.ROUTE,
            f"{decision.route}: {decision.reason}",
            decision.question_feedback,
            decision.answer_feedback,
        )
        if decision.route in (Route.ACCEPT, Route.DISCARD):
            accepted = decision.route is Route.ACCEPT
            state = CandidateState.ACCEPTED if accepted else CandidateState.DISCARDED
            reason = None if accepted else decision.reason
            self.runs.settle(key, state, reason, round=at, **_facts(dossier))
        return decision.route

    def _decide(self, dossier: Dossier, record: RoundRecord) -> routing.Decision:
        checked = record.steps.get(Step.CHECK)
        if checked == _DECLINED:
            return routing.Decision(Route.DISCARD, _DECLINED)
        if checked == _DEFECTIVE:
            return routing.after_check(self._defects(dossier, record), record.round)
        final = dossier.final
        if not (final and final.reference and record.independent and record.critique):
            raise RuntimeError(f"{dossier.outcome.target.key}: round {record.round} is incomplete")
        form = dossier.outcome.target.format
        agreed = routing.agreement(form, final.reference, record.independent, record.critique)
        return routing.after_critique(
            record.critique, agreed, record.independent.flag, record.round
        )


def _without_examples(norm: Norm) -> Norm:
    # Options may be made from a norm's examples; who answers must judge them, not look them up.
    return norm.model_copy(update={"fitting": (), "unfitting": ()})


def _choice_agreement(
    form: Format, reference: Reference, independent: IndependentAnswer
) -> bool | None:
    if not form.is_choice:
        return None
    neutral = Critique(cue_support=True, logical_coherence=True, capability_alignment=True)
    return routing.agreement(form, reference, independent, neutral)


def _answer_fault(
    form: Format, options: tuple[Option, ...]
) -> Callable[[IndependentAnswer], str | None]:
    ids = [option.id for option in options]

    def fault(reply: IndependentAnswer) -> str | None:
        if reply.answer is None or fits(form, reply.answer, ids):
            return None
        return f"`answer` does not fit a {form} question with the options {ids}"

    return fault


def _critique_fault(
    form: Format, independent: IndependentAnswer
) -> Callable[[Critique], str | None]:
    def fault(reply: Critique) -> str | None:
        both = (reply.reference_given_answer, reply.answer_given_reference)
        if form.is_choice or independent.answer is None or None not in both:
            return None
        return "give both credits of an open question"

    return fault


def _facts(dossier: Dossier) -> dict[str, object]:
    proposed = [record for record in dossier.rounds if record.question is not None]
    last = proposed[-1].round if proposed else 0
    answers = sum(r.independent is not None for r in dossier.rounds if r.round >= last)
    return {"answers": answers, "reference_flip": len({_words(r) for r in proposed}) > 1}


def _words(record: RoundRecord) -> str:
    if record.question is None or record.reference is None:
        return ""
    answer = record.reference.answer
    text = {option.id: option.text for option in record.question.options}
    chosen = [answer] if isinstance(answer, str) else answer
    return canonical_json(sorted(text.get(one, one) for one in chosen))

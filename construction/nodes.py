"""What each node of the graph does: read through its own store, ask or compute, write once.

Every node is an idempotent step: when its row exists it does nothing, so a killed run repeats only
the calls that were in flight.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from construction import checks, routing
from construction.agents import Agent, Task
from construction.inputs import answer_inputs, critic_inputs, question_inputs
from construction.presentation import present, presentation_order, restore
from psychemme.answers import fits
from psychemme.canonical import canonical_json
from psychemme.items import Critique, Defect, IndependentAnswer, Option, Proposal
from psychemme.vocabulary import CandidateState, Format, Route, Step
from psychology_kb.load import KnowledgeBase
from state.runs import RunStore
from state.stores import AnswerStore, CriticStore, QuestionStore
from state.values import Case, RoundRecord

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
        if (brief := await store.begin(key, at)) is not None:
            inputs = question_inputs(brief, self.knowledge)
            task = Task[Proposal](key, brief.target.id, at, inputs, brief.material)
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
        if (brief := await store.begin(key, at)) is None:
            return {"route": None}
        order = presentation_order(len(brief.options), brief.candidate_id, at, self.secret)
        shown = present(brief.options, order)
        inputs = answer_inputs(brief, shown, self.knowledge)
        fault = _answer_fault(brief.format, shown)
        task = Task(key, brief.candidate_id, at, inputs, brief.material, fault)
        given = await self.answerer.ask(task)
        shown_ids = [brief.options[position].id for position in order]
        await store.save(key, at, restore(given, brief.options, order), shown_ids)
        return {"route": None}

    async def critique(self, state: "GraphState") -> dict[str, object]:
        """Critic Agent: verdicts on both paths, with closed codes."""
        key, at, store = state["candidate_key"], state["round"], self.critic.store
        if (brief := await store.begin(key, at)) is not None:
            inputs = critic_inputs(brief, self.knowledge)
            fault = _critique_fault(brief.target.format, brief.independent)
            task = Task(key, brief.target.id, at, inputs, brief.material, fault)
            await store.save(key, at, await self.critic.ask(task))
        return {"route": None}

    async def route(self, state: "GraphState") -> dict[str, object]:
        """Code: accept, revise the question, answer again, or discard."""
        key, at = state["candidate_key"], state["round"]
        route = await self.runs.in_thread(lambda: self._route(key, at))
        goes_on = route in (Route.REVISE_QUESTION, Route.REANSWER)
        return {"route": route, "round": at + 1 if goes_on else at}

    def _check(self, key: str, at: int) -> str:
        case = self.runs.case(key)
        done = case.rounds[at].steps.get(Step.CHECK)
        outcome = done or self._check_outcome(case, case.rounds[at])
        if done is None:
            self.runs.record_step(key, at, Step.CHECK, outcome)
        return outcome

    def _check_outcome(self, case: Case, record: RoundRecord) -> str:
        if record.question is None:
            return _DECLINED
        return _DEFECTIVE if self._defects(case, record) else _SOUND

    def _defects(self, case: Case, record: RoundRecord) -> tuple[Defect, ...]:
        if record.question is None or record.reference is None:
            return ()
        target = case.target
        card = self.knowledge.card(target.capability)
        return checks.defects(record.question, record.reference, target.format, card, case.episode)

    def _route(self, key: str, at: int) -> Route:
        case = self.runs.case(key)
        stored = case.rounds[at].steps.get(Step.ROUTE)
        route, _, reason = (stored or self._record_route(case, at)).partition(": ")
        if route in (Route.ACCEPT, Route.DISCARD):
            accepted = route == Route.ACCEPT
            state = CandidateState.ACCEPTED if accepted else CandidateState.DISCARDED
            self.runs.settle(key, state, None if accepted else reason, round=at, **_facts(case))
        return Route(route)

    def _record_route(self, case: Case, at: int) -> str:
        decision = self._decide(case, case.rounds[at])
        outcome = f"{decision.route}: {decision.reason}"
        feedback = (decision.question_feedback, decision.answer_feedback)
        self.runs.record_step(case.target.key, at, Step.ROUTE, outcome, *feedback)
        return outcome

    def _decide(self, case: Case, record: RoundRecord) -> routing.Decision:
        checked = record.steps.get(Step.CHECK)
        if checked == _DECLINED:
            return routing.Decision(Route.DISCARD, _DECLINED)
        if checked == _DEFECTIVE:
            return routing.after_check(self._defects(case, record), record.round)
        # A resumed run may hold a later proposal already; this round answered the one before it.
        asked = [r for r in case.rounds[: record.round + 1] if r.question is not None]
        final = asked[-1] if asked else None
        if not (final and final.reference and record.independent and record.critique):
            raise RuntimeError(f"{case.target.key}: round {record.round} is incomplete")
        form = case.target.format
        agreed = routing.agreement(form, final.reference, record.independent, record.critique)
        return routing.after_critique(
            record.critique, agreed, record.independent.flag, record.round
        )


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


def _facts(case: Case) -> dict[str, object]:
    proposed = [record for record in case.rounds if record.question is not None]
    last = proposed[-1].round if proposed else 0
    answers = sum(r.independent is not None for r in case.rounds if r.round >= last)
    return {"answers": answers, "reference_flip": len({_words(r) for r in proposed}) > 1}


def _words(record: RoundRecord) -> str:
    if record.question is None or record.reference is None:
        return ""
    answer = record.reference.answer
    text = {option.id: option.text for option in record.question.options}
    chosen = [answer] if isinstance(answer, str) else answer
    return canonical_json(sorted(text.get(one, one) for one in chosen))

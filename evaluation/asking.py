"""The request that puts one item to a model, and the record of what was sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from evaluation.footage import Footage, sent_media
from evaluation.inputs import InputPolicy, history_of, shown
from evaluation.option_orders import option_order, shown_question
from prompts.load import render
from psychemme.clients.cards import ModelCard
from psychemme.clients.protocol import Client, Parameters, Request
from psychemme.episode import Value
from psychemme.items import Answer
from psychemme.release.read import Release
from psychemme.release.rows import QuestionRow
from psychemme.vocabulary import EvaluationRole

PROMPT = "evaluated"


class EvaluatedReply(Value):
    """The reply that is asked for (paper, Table 10)."""

    answer: Answer
    G: str | None
    W: str | None
    N: str | None
    T: str | None
    S: str | None
    A: str | None
    M: str | None
    R: str | None


@dataclass(frozen=True)
class Asking:
    """How the items of `release` are put to `client`, a model with `card`."""

    release: Release
    policy: InputPolicy
    card: ModelCard
    footage: Footage
    client: Client
    parameters: Parameters
    donors: Mapping[str, str] = field(default_factory=dict)

    async def request(self, question: QuestionRow) -> tuple[Request, dict[str, object]]:
        """Return the request for `question` and what it sends.

        Raises MediaError, and EndpointError where frames cannot be chosen by likeness.
        """
        episode = self.release.episodes[question.episode_id]
        given = self.policy.gives(self.card)
        history = history_of(question, self.release, self.policy, self.donors)
        texts = shown(question, episode, history, self.policy, given)
        parts = await self.footage.parts(episode, given, self.policy, self.card, question.question)
        order = option_order(question, self.policy.order, self.policy.order_seed)
        inputs = {
            "episode": texts,
            "question": question.question,
            "options": shown_question(question, order).options,
            "format": question.format,
            "decision_time": question.decision_time,
        }
        prompt = render(PROMPT, inputs)
        request = Request(
            role=EvaluationRole.EVALUATED,
            prompt_id=prompt.prompt_id,
            prompt_hash=prompt.hash,
            system=prompt.system,
            user=prompt.user,
            inputs=inputs,
            reply_schema=EvaluatedReply,
            media=parts,
            parameters=self.parameters,
        )
        return request, {
            "media": sent_media(parts),
            "transcript_lines": len(texts.transcript) if texts else 0,
            "history_entries": len(texts.history) if texts else 0,
            "history_of": self.donors.get(question.id),
            "public_context": bool(texts and texts.public_context),
            "option_order": order,
            "characters": len(prompt.system) + len(prompt.user),
        }

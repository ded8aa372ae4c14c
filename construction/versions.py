"""A candidate's final proposal as the first version of an item."""

from state.review_values import ItemVersion, Revealed
from state.values import Dossier


def first_version(dossier: Dossier) -> ItemVersion:
    """Return a candidate's final proposal; raises ValueError where it has none."""
    target, final = dossier.outcome.target, dossier.final
    if final is None or final.question is None or final.reference is None:
        raise ValueError(f"{target.key} holds no question")
    question, reference = final.question, final.reference
    return ItemVersion(
        candidate_key=target.key,
        episode_id=target.episode_id,
        preparation=target.preparation,
        format=target.format,
        question=question.question,
        options=question.options,
        decision_time=question.decision_time,
        revealed=Revealed(
            capability=target.capability,
            subcategory=question.subcategory,
            answer=reference.answer,
            key_points=reference.key_points,
            cues=reference.cues,
        ),
    )

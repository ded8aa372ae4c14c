"""The pages: what each template is given, and nothing that it must not show.

Every text of a release, a model or a judge is untrusted: the templates escape it, and the script
writes text only. No page names a model or a judge, nor tells a planted decision from another.
"""

from functools import cache
from pathlib import Path

from jinja2 import Environment

from evaluation.people.kinds import is_complete, letters
from evaluation.people.rows import LEVELS, Decision, Kind
from evaluation.people.web.site import Place, Site, Visitor, places_of
from psychemme.answers import option_set
from psychemme.canonical import canonical_json
from psychemme.pages import page_templates
from psychemme.vocabulary import Capability

STATIC = Path(__file__).parent / "static"
"""The script and style of the pages, served under /static."""
_TEMPLATES = Path(__file__).parent / "templates"

_MEANINGS: dict[Decision, tuple[str, dict[str | float, str]]] = {
    Decision.EVIDENCE_SUPPORT: (
        "Do the cues bear the rationales out?",
        {
            "strong": "What matters in the rationales is well supported by the cues.",
            "normal": "The support suffices; something is left out or not specific enough.",
            "weak": "A claim or inference that matters lacks adequate support in the cues.",
            "contradicted": "A claim that matters conflicts with a cue.",
            "insufficient": "Nothing in the rationales can be checked against the cues.",
        },
    ),
    Decision.LOGICAL_INTEGRITY: (
        "Do the rationales hold together and lead to the answer given?",
        {
            "fully_coherent": "Together they support the answer, and nothing conflicts.",
            "acceptable": "Consistent and adequate, with small gaps.",
            "weak": "A step that matters is missing or poorly justified.",
            "contradictory": "They contradict each other or the answer given.",
            "unevaluable": "They hold no reasoning that could be assessed.",
        },
    ),
    Decision.ANSWER_CREDIT: (
        "How much credit does the answer earn?",
        {
            1.0: "All required key points are met and nothing in the answer contradicts them.",
            0.5: "At least one required key point is met, nothing contradicts; it is incomplete.",
            0.0: "Otherwise, also where the answer is beside the question.",
        },
    ),
}
_NAMES = {
    Decision.EVIDENCE_SUPPORT: "Evidence Support",
    Decision.LOGICAL_INTEGRITY: "Logical Integrity",
    Decision.ANSWER_CREDIT: "Answer credit",
}


def enter_page(site: Site, token: str) -> str:
    """Return the page whose button signs in with an invite link's token."""
    return _render("enter.html", kind=site.study.kind, token=token)


def error_page(status: int, problem: str, action: str) -> str:
    """Return a page that says what went wrong and what to do."""
    return _render("error.html", status=status, problem=problem, action=action)


def home_page(site: Site, visitor: Visitor) -> str:
    """Return a person's own list, or the declaration that comes before it."""
    places = places_of(site.study, visitor.person)
    kept = site.store.answers(visitor.person)
    done = {n for n in kept if is_complete(site.study, site.study.tasks[n], kept[n].content)}
    return _render(
        "home.html",
        kind=site.study.kind,
        person=visitor.person,
        csrf=visitor.csrf,
        declared=site.store.declared(visitor.person) if site.study.kind is Kind.BASELINE else False,
        places=places,
        ahead=next((place.number for place in places if place.index not in done), None),
        done=done,
        begun=kept.keys() - done,
        finished=site.store.finished(visitor.person),
    )


def task_page(site: Site, visitor: Visitor, place: Place) -> str:
    """Return the page of one task with what the person said so far."""
    study, task = site.study, place.task
    kept = site.store.answers(visitor.person).get(place.index)
    shown = letters(study, visitor.person, task)
    texts = {option.id: option.text for option in task.question.options}
    facts = {
        "number": place.number,
        "owner": visitor.person,
        "seconds": kept.seconds if kept else 0.0,
        "revision": kept.revision if kept else 0,
        "saved_at": kept.at if kept else None,
        "store": site.cookie,
        "complete": bool(kept and is_complete(study, task, kept.content)),
    }
    return _render(
        "task.html",
        kind=study.kind,
        csrf=visitor.csrf,
        facts=canonical_json(facts),
        number=place.number,
        total=len(study.tasks),
        task=task,
        question=task.question,
        episode=study.episodes[task.question.episode_id],
        has_film=task.question.episode_id in study.films,
        options=[(letter, name, texts[name]) for letter, name in shown],
        said=kept.content if kept else {},
        finished=site.store.finished(visitor.person),
        categories=study.categories,
        levels=LEVELS,
        meanings=_MEANINGS,
        names=_NAMES,
        capabilities={code: code.name.capitalize() for code in Capability},
        reasons=_reasons(place),
        chosen=_chosen(place),
    )


def _reasons(place: Place) -> dict[Decision, str]:
    judgement = place.task.judgement
    if judgement is None:
        return {}
    return {
        Decision.EVIDENCE_SUPPORT: judgement.evidence_reason,
        Decision.LOGICAL_INTEGRITY: judgement.logic_reason,
    }


def _chosen(place: Place) -> dict[str, frozenset[str]]:
    """Return the options that the reference and the model name, by whose."""
    task = place.task
    if task.reference is None or task.words is None or not task.question.format.is_choice:
        return {}
    return {
        "reference": option_set(task.reference.answer),
        "model": option_set(task.words.answer),
    }


@cache
def _environment() -> Environment:
    environment = page_templates(_TEMPLATES)
    environment.filters["seconds"] = lambda value: f"{value:.1f}"
    environment.filters["words"] = lambda value: str(value).replace("_", " ")
    return environment


def _render(template: str, **context: object) -> str:
    return _environment().get_template(template).render(context)

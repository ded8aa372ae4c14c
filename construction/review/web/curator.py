"""The curator's routes: the queue, disagreements, dossiers, edits, reviewers and closing."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from construction.audits.desk import audit_edit
from construction.review.assigning import fill, wanting
from construction.review.closing import close_complete, replace_version
from construction.review.desk import item_status, item_statuses
from construction.review.invites import invite, renew
from construction.review.opening import footage_path
from construction.review.unanimity import revoked
from construction.review.web import curator_views as views
from construction.review.web.bodies import Key, Version
from construction.review.web.curator_clips import ClipsWanted, clips_view
from construction.review.web.curator_edit import (
    LONGEST_NAME,
    LONGEST_REASON,
    FormFault,
    edited,
    typed_from,
    typed_of,
)
from construction.review.web.curator_outcomes import read_outcomes, stored_trials
from construction.review.web.problems import Refusal
from construction.review.web.sessions import CuratorOf, curator, genuine
from construction.review.web.site import Site, SiteOf
from construction.review.workload import workloads
from construction.screening.pipeline import decide
from psychemme.canonical import now
from psychemme.errors import ReviewError
from psychemme.media.blobs import BlobStore
from psychemme.pages.tokens import link
from psychemme.release.texts import same_text, visible
from psychemme.vocabulary import Closing, ScreeningVerdict
from state.clips import ClipStore
from state.leakage import LeakageStore
from state.review import Place
from state.review_values import Board, ItemVersion, ReviewedVersion
from state.runs import RunStore

Fields = Mapping[str, list[str]]
ClipId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")]
Sha256 = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]
PageNumber = Annotated[int, Query(ge=1, le=100_000)]


async def sent_fields(request: Request) -> Fields:
    """Return the text fields of a form; files are left out."""
    fields: dict[str, list[str]] = {}
    for name, value in (await request.form()).multi_items():
        if isinstance(value, str):
            fields.setdefault(name, []).append(value)
    return fields


SentOf = Annotated[Fields, Depends(sent_fields)]


def make_curator_router() -> APIRouter:
    """Return the routes under `/curator`; each needs the curator's session."""
    router = APIRouter(
        prefix="/curator",
        dependencies=[Depends(curator), Depends(genuine)],
        default_response_class=HTMLResponse,
        include_in_schema=False,
    )
    router.add_api_route("", overview)
    router.add_api_route("/queue", queue)
    router.add_api_route("/disagreements", disagreements)
    router.add_api_route("/clips", clips)
    router.add_api_route("/stills/{sha256}.jpg", still, response_class=FileResponse)
    router.add_api_route("/items/{key}/{version}", item)
    router.add_api_route("/items/{key}/{version}/edit", edit)
    for path, act in (
        ("/items/{key}/{version}/edit", save_edit),
        ("/items/{key}/{version}/note", add_note),
        ("/clips/{clip_id}", decide_on_clip),
        ("/close", close),
        ("/discuss", discuss),
        ("/assign", assign),
        ("/invite", invite_reviewer),
        ("/renew", renew_link),
        ("/revoke", revoke_link),
    ):
        router.add_api_route(path, act, methods=["POST"])
    return router


def overview(site: SiteOf, visitor: CuratorOf, done: str = "") -> str:
    """Show sets and reviewers."""
    board = site.desk.board()
    with ClipStore(site.workspace.database) as clips:
        durations = {
            (episode.id, episode.preparation): episode.content.duration
            for number in {version.item.preparation for version in board.versions}
            for episode in clips.episodes(number)
        }
    loads = workloads(board.versions, board.reviewers, durations)
    return views.overview_page(_standing(board), loads, now(), views.Frame(visitor.csrf, done=done))


def queue(
    site: SiteOf,
    visitor: CuratorOf,
    of_set: Annotated[str, Query(alias="set")] = "",
    stage: str = "",
    capability: str = "",
    form: Annotated[str, Query(alias="format")] = "",
    page: PageNumber = 1,
) -> str:
    """Show the versions that fit a filter."""
    wanted = views.Wanted(of_set, stage, capability, form, page)
    frame = views.Frame(visitor.csrf, here="/curator/queue")
    return views.queue_page(_standing(site.desk.board()), wanted, frame)


def disagreements(site: SiteOf, visitor: CuratorOf, done: str = "") -> str:
    """Show the versions whose verdicts differ."""
    frame = views.Frame(visitor.csrf, here="/curator/disagreements", done=done)
    standing = _standing(site.desk.board())
    return views.disagreements_page(standing, views.reason_texts(site.form), frame)


def clips(
    site: SiteOf, visitor: CuratorOf, show: str = "", page: PageNumber = 1, done: str = ""
) -> str:
    """Show clips with what screening found."""
    frame = views.Frame(visitor.csrf, here="/curator/clips", done=done)
    return views.clips_page(clips_view(site.workspace, ClipsWanted(show, page)), frame)


def still(site: SiteOf, sha256: Sha256) -> Response:
    """Return a picture of a clip."""
    try:
        path = BlobStore(site.workspace.blobs).path(sha256)
    except KeyError:
        path = None
    if path is None or path.suffix != ".jpg":
        raise Refusal(404, "There is no such picture.", "Run `psychemme screen`.")
    return FileResponse(path, media_type="image/jpeg")


def decide_on_clip(
    site: SiteOf, clip_id: ClipId, fields: SentOf, show: str = "", page: PageNumber = 1
) -> Response:
    """Keep a decision about a clip."""
    by, why = _signed(fields, "by", "reason")
    try:
        verdict = ScreeningVerdict(_field(fields, "verdict"))
    except ValueError:
        raise Refusal(400, "There is no such verdict.", "Use the buttons.") from None
    with ClipStore(site.workspace.database) as store:
        if clip_id not in {clip.id for clip in store.clips()}:
            raise Refusal(404, "There is no such clip.", "Choose one of the page.")
    decide(site.workspace.database, clip_id, verdict, by, why)
    back = ClipsWanted(show, page).address(done="decided")
    return RedirectResponse(f"{back}#c-{clip_id}", 303)


def item(site: SiteOf, visitor: CuratorOf, key: Key, version: Version, done: str = "") -> str:
    """Show the dossier of one version."""
    view = _item_view(site, (key, version))
    frame = views.Frame(visitor.csrf, here="", done=done)
    return views.item_page(view, site.knowledge, views.reason_texts(site.form), frame)


def edit(site: SiteOf, visitor: CuratorOf, key: Key, version: Version) -> str:
    """Show the form that edits a version."""
    view = _open_view(site, (key, version))
    typed = typed_of(view.status.version.item)
    frame = views.Frame(visitor.csrf, here="")
    return views.edit_page(view, site.knowledge, typed, (), frame)


def save_edit(
    site: SiteOf, visitor: CuratorOf, key: Key, version: Version, fields: SentOf
) -> Response:
    """Make the next version, or show what is wrong with it."""
    view = _open_view(site, (key, version))
    before, typed = view.status.version.item, typed_from(fields)
    card = site.knowledge.card(before.revealed.capability)
    after, faults = edited(typed, before, card, view.dossier.episode.content)
    if after is not None and (twin := _twin(site.desk.board(), after)):
        faults.append(FormFault("question", f"{twin} asks the same of this episode."))
    if after is None or faults:
        frame = views.Frame(visitor.csrf, here="")
        page = views.edit_page(view, site.knowledge, typed, faults, frame)
        return HTMLResponse(page, 400)
    place = replace_version(site.desk, after, typed.editor, typed.reason)
    audit_edit(site.workspace, after)
    return _see(views.item_address(place), "edited")


def add_note(site: SiteOf, key: Key, version: Version, fields: SentOf) -> Response:
    """Add an adjudication note; no vote changes."""
    author, text = _signed(fields, "author", "note")
    place = (key, version)
    site.desk.version(place)
    site.desk.note(place, author, text)
    back = views.item_address(place)
    return _see("/curator/disagreements" if _field(fields, "back") else back, "noted")


def close(site: SiteOf, fields: SentOf) -> Response:
    """Close the complete items of a set."""
    close_complete(site.desk, _field(fields, "set"))
    return _see("/curator", "closed")


def discuss(site: SiteOf, fields: SentOf) -> Response:
    """Mark a calibration set as discussed."""
    site.desk.mark_discussed(_field(fields, "set"))
    return _see("/curator", "discussed")


def assign(site: SiteOf) -> Response:
    """Assign reviewers where an item lacks some."""
    fill(site.desk)
    return _see("/curator", "assigned")


def invite_reviewer(request: Request, site: SiteOf, visitor: CuratorOf, fields: SentOf) -> str:
    """Invite a reviewer and show the link once."""
    reviewer = _field(fields, "reviewer")
    token = invite(
        site.desk,
        reviewer,
        _field(fields, "name"),
        background=_field(fields, "background")[:LONGEST_REASON],
    )
    return _link_page(request, site, visitor, reviewer, token)


def renew_link(request: Request, site: SiteOf, visitor: CuratorOf, fields: SentOf) -> str:
    """Replace a reviewer's link and show the new one once."""
    reviewer = _field(fields, "reviewer")
    return _link_page(request, site, visitor, reviewer, renew(site.desk, reviewer))


def revoke_link(site: SiteOf, fields: SentOf) -> Response:
    """End a reviewer's link and sessions."""
    site.desk.revoke(_field(fields, "reviewer"))
    return _see("/curator", "revoked")


def _twin(board: Board, item: ItemVersion) -> str | None:
    """Return the candidate that asks the same of the same episode: no release may hold both."""
    asked = same_text(item.question)
    for version in board.versions:
        other, ended = version.item, version.closing in (Closing.REPLACED, Closing.REJECTED)
        if (
            not ended
            and other.candidate_key != item.candidate_key
            and other.episode_id == item.episode_id
            and same_text(other.question) == asked
        ):
            return other.candidate_key
    return None


def _standing(board: Board) -> views.Standing:
    statuses = item_statuses(board.versions, board.sets, wanting(board), revoked(board))
    return views.Standing(board.sets, statuses)


def _item_view(site: Site, place: Place) -> views.ItemView:
    versions = _versions_of(site, place[0])
    if place[1] > len(versions):
        raise Refusal(404, "There is no such item under review.", "Choose one of the queue.")
    version = versions[place[1] - 1]
    sets = {record.name: record for record in site.desk.sets()}
    board = Board(reviewers=tuple(site.desk.reviewers()), sets=sets, versions=versions)
    of_set = sets[version.set_name]
    with RunStore(site.workspace.database) as runs:
        dossier = runs.dossier(place[0])
    target = dossier.outcome.target
    footage = footage_path(site.workspace, target.episode_id, target.preparation)
    outcomes = read_outcomes(site.workspace.root, {target.key, target.id})
    with LeakageStore(site.workspace.database) as trials:
        outcomes.trials.extend(stored_trials(trials.calls(target.key), place[1]))
    return views.ItemView(
        status=item_status(version, of_set, wanting(board), revoked(board)),
        of_set=of_set,
        versions=versions,
        dossier=dossier,
        outcomes=outcomes,
        has_media=footage.exists(),
    )


def _versions_of(site: Site, key: str) -> tuple[ReviewedVersion, ...]:
    """Return a candidate's versions, which are numbered from 1; the whole board takes longer."""
    found: list[ReviewedVersion] = []
    with suppress(ReviewError):
        while True:
            found.append(site.desk.version((key, len(found) + 1)))
    return tuple(found)


def _open_view(site: Site, place: Place) -> views.ItemView:
    view = _item_view(site, place)
    if view.fixed_because:
        raise Refusal(409, view.fixed_because, "Nothing is changed.")
    return view


def _link_page(request: Request, site: Site, visitor: CuratorOf, reviewer: str, token: str) -> str:
    base = request.base_url.replace(scheme="https") if site.is_secure else request.base_url
    return views.link_page(reviewer, link(str(base), token), views.Frame(visitor.csrf, here=""))


def _field(fields: Fields, name: str) -> str:
    return visible(fields.get(name, [""])[0])


def _signed(fields: Fields, author: str, text: str) -> tuple[str, str]:
    """Return who says what; refuses where either is missing or too long."""
    by, said = _field(fields, author), _field(fields, text)
    if not 0 < len(by) <= LONGEST_NAME:
        raise Refusal(400, f"The {text} has no author.", f"Use 1 to {LONGEST_NAME} characters.")
    if not 0 < len(said) <= LONGEST_REASON:
        hint = f"Use 1 to {LONGEST_REASON:,} characters."
        raise Refusal(400, f"The {text} cannot be stored.", hint)
    return by, said


def _see(address: str, done: str) -> Response:
    return RedirectResponse(f"{address}?done={done}", 303)

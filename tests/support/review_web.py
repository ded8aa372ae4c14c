"""A served review page and the browsers of its reviewers, for tests."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.testclient import TestClient

from construction.review.invites import renew
from construction.review.web.app import create_app
from construction.review.web.sessions import Visitor
from construction.workspace import DEMO_KEY, Workspace
from psychemme.pages.tokens import hash_token
from psychemme.vocabulary import Approval, Format, SetKind, Verdict
from state.review_desk import ReviewDesk
from state.review_values import Vote
from tests.support.reviews import REVIEWERS, make_review
from tests.support.states import EPISODE_ID

ADDRESS = "http://127.0.0.1:8765"
CURATOR_TOKEN = "the-curators-own-token"
FOOTAGE = bytes(range(256)) * 40
FOOTAGE_URL = f"/media/{EPISODE_ID}/1.mp4"
VERDICTS = dict.fromkeys(map(str, Verdict), str(Approval.APPROVE))


def make_site(
    root: Path,
    forms: Sequence[Format] = (Format.SINGLE, Format.OPEN),
    names: Sequence[str] = REVIEWERS,
    kind: SetKind = SetKind.REVIEW,
    **settings: Any,
) -> FastAPI:
    """Serve a workspace at `root` with one set of items, each assigned to all of `names`."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "shuffle.key").write_text(DEMO_KEY)
    workspace = Workspace(root)
    make_review(workspace.database, forms, names, kind)
    (root / "review").mkdir()
    footage = root / "review" / f"{EPISODE_ID}-1.mp4"
    footage.write_bytes(FOOTAGE)
    os.utime(footage, (0, 0))
    return create_app(workspace, curator_token_sha256=hash_token(CURATOR_TOKEN), **settings)


def database(app: FastAPI) -> Path:
    """Return the Shared State of a served workspace."""
    return app.state.site.workspace.database


def stored_votes(app: FastAPI, item: str) -> Mapping[str, tuple[Vote, ...]]:
    """Return the votes on an item (`key/version`) by reviewer."""
    key, version = item.split("/")
    with ReviewDesk(database(app)) as desk:
        return desk.version((key, int(version))).votes


def invited(app: FastAPI, name: str) -> str:
    """Return the token of a new link for a reviewer; what was opened before ends."""
    with ReviewDesk(database(app)) as desk:
        return renew(desk, name)


class Browser(TestClient):
    """A browser signed in with a link's token; every response is kept in `seen`."""

    def __init__(self, app: FastAPI, token: str, address: str = ADDRESS) -> None:
        super().__init__(app, base_url=address, follow_redirects=False)
        self.seen: list[Any] = []
        self.event_hooks = {"response": [self.seen.append]}
        entered = self.post("/enter", data={"token": token})
        assert entered.status_code == 303, entered.text
        self.home = entered.headers["location"]
        self.csrf = Visitor(next(iter(self.cookies.values())), None).csrf

    def say(self, path: str, body: dict[str, Any], **headers: str) -> Any:
        """Post JSON as the page's script does."""
        return self.post(path, json=body, headers={"x-csrf-token": self.csrf} | headers)

    def answer(self, item: str, answer: Any = "A", request_id: str = "answer-1") -> Any:
        """Commit an answer to an item (`key/version`)."""
        body = {"answer": answer, "seconds": 5, "watched": 1, "request_id": request_id}
        return self.say(f"/api/items/{item}/answer", body)

    def vote(self, item: str, request_id: str = "vote-0001", **changes: Any) -> Any:
        """Approve an item in full, but for `changes`; the comment explains any difference."""
        body = {"verdicts": VERDICTS, "reasons": {}, "comment": "fits", "seconds": 9, "watched": 1}
        return self.say(f"/api/items/{item}/vote", body | {"request_id": request_id} | changes)


def browser(app: FastAPI, name: str) -> Browser:
    """Return a reviewer's browser."""
    return Browser(app, invited(app, name))


def curator(app: FastAPI) -> Browser:
    """Return the curator's browser."""
    return Browser(app, CURATOR_TOKEN)

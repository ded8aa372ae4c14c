"""The served page: who may reach it, how it starts and stops, and what it leaves unsaid."""

import os
import re
import signal
import socket
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from construction.review.web.serve import serve
from construction.workspace import Workspace
from psychemme.errors import ConfigError, ReviewError
from tests.support import postgres
from tests.support.review_web import database, invited, make_site

DRAFT = "/api/items/1-c0/1/draft"


def refuse_to_start(address: str, link: str) -> None:
    raise AssertionError("it started")


def while_served(root: Path, visit: Callable[[str, str], None], **settings: object) -> None:
    """Serve a workspace until `visit` is over, then interrupt as Ctrl-C does."""
    with ThreadPoolExecutor(1) as pool:
        visits: list[Future[None]] = []

        def announce(*said: str) -> None:
            visits.append(pool.submit(visit, *said))
            visits[0].add_done_callback(lambda _: os.kill(os.getpid(), signal.SIGINT))

        serve(Workspace(root), announce=announce, **settings)
    visits[0].result()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.org"])
def test_other_machines_are_not_served_without_tls(tmp_path, host):
    with pytest.raises(ReviewError, match="--behind-tls"):
        serve(Workspace(tmp_path), host, 0, announce=refuse_to_start)


@pytest.mark.parametrize(
    "address",
    ["http://a.example", "a.example", "https://", "https://a/b", "https://[", "https://u@a"],
)
def test_the_address_behind_tls_is_an_https_one(tmp_path, address):
    with pytest.raises(ReviewError, match="no https address"):
        serve(Workspace(tmp_path), behind_tls=address, announce=refuse_to_start)


def test_a_port_that_is_taken_is_named(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ReviewError, match=f"Port {port} .* in use"):
            serve(Workspace(tmp_path), port=port, announce=refuse_to_start)


@pytest.mark.parametrize("role", ["curator", "reviewer_blind", "reviewer_informed"])
def test_a_wrong_password_is_named_before_anybody_is_served(tmp_path, monkeypatch, role):
    for name, value in postgres.environment(postgres.fresh_database()).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(f"PSYCHEMME_DATABASE_PASSWORD_{role.upper()}", "another")
    with pytest.raises(ConfigError, match=f"refuses the password of psychemme_{role}"):
        serve(Workspace(tmp_path), port=0, announce=refuse_to_start)


def test_sessions_outlive_the_server_and_its_link_does_not(tmp_path, capfd):
    app = make_site(tmp_path / "w")
    root, token = database(app).parent, invited(app, "ada")
    ada, curator = httpx.Client(), httpx.Client()
    links, csrf = [], []

    def first(address: str, link: str) -> None:
        links.append(link)
        assert "server" not in ada.get(f"{address}/enter/{token}").headers
        assert ada.post(f"{address}/enter", data={"token": token}).status_code == 303
        csrf.extend(re.findall(r'name="csrf" value="(\w+)"', ada.get(address).text))
        entered = curator.post(f"{address}/enter", data={"token": link.split("/")[-1]})
        assert entered.headers["location"] == "/curator"
        assert curator.get(link, headers={"host": "evil.example"}).status_code == 400

    def second(address: str, link: str) -> None:
        assert link not in links
        saved = ada.post(
            address + DRAFT, json={"draft": {"a": 1}}, headers={"x-csrf-token": csrf[0]}
        )
        assert saved.status_code == 200
        old = httpx.post(f"{address}/enter", data={"token": links[0].split("/")[-1]})
        assert old.status_code == 400

    while_served(root, first, port=0)
    port = int(re.findall(r":(\d+)/", links[0])[0])
    while_served(root, second, port=port)
    said = "".join(capfd.readouterr())
    assert said == ""  # no access log, whose paths hold tokens


@pytest.mark.parametrize(("proxies", "is_believed"), [(("127.0.0.1",), True), ((), False)])
def test_forwarded_addresses_are_believed_from_known_proxies_only(tmp_path, proxies, is_believed):
    app = make_site(tmp_path / "w")
    there = "https://review.example.org"
    token = invited(app, "ada")

    def visit(address: str, link: str) -> None:
        assert address == there
        assert link.startswith(f"{there}/enter/")
        statuses = [
            httpx.post(
                f"http://127.0.0.1:{port}/enter",
                data={"token": "wrong"},
                headers={"host": "review.example.org", "x-forwarded-for": f"10.1.1.{number}"},
            ).status_code
            for number in range(11)
        ]
        assert (statuses[-1] == 400) is is_believed
        if is_believed:
            entered = httpx.post(
                f"http://127.0.0.1:{port}/enter",
                data={"token": token},
                headers={"host": "review.example.org", "origin": there},
            )
            assert "__Host-psychemme=" in entered.headers["set-cookie"]

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    while_served(database(app).parent, visit, port=port, behind_tls=there, proxies=proxies)

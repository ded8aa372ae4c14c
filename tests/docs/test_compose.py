"""The team's services: what the file promises, and every command of it run as a process."""

import json
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.commands import ROOT, SAMPLE
from tests.support.postgres import PASSWORDS, binaries, server

TEXT = (ROOT / "docker-compose.yml").read_text("utf-8")
FILE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = FILE["services"]
AGENTS = {"curator", "question", "answer", "critic"}
REVIEWERS = {"curator", "reviewer_blind", "reviewer_informed"}
HOLDS = {"setup": {"admin"} | AGENTS | REVIEWERS, "construction": AGENTS, "review": REVIEWERS}
"""Which logins the file of each secret holds."""
# Of the Compose Specification: a misspelt key would be ignored or refused by the engine only.
KNOWN_KEYS = {
    "build", "cap_drop", "command", "depends_on", "deploy", "entrypoint", "env_file", "environment",
    "extra_hosts", "healthcheck", "image", "init", "network_mode", "ports", "profiles", "restart",
    "secrets", "security_opt", "stop_grace_period", "volumes",
}  # fmt: skip
DEADLINE = 90.0


def commands() -> str:
    """The commands of the team's page that make the secrets."""
    page = (ROOT / "docs" / "team.md").read_text("utf-8")
    (found,) = re.findall(r"^```bash\n(.*?)^```$", page, re.M | re.S)
    return found


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A folder where the team's page was followed."""
    folder = tmp_path_factory.mktemp("checkout")
    subprocess.run(["bash", "-euc", commands()], cwd=folder, check=True, capture_output=True)
    return folder


def test_only_known_keys_at_every_service():
    assert FILE.keys() - {"name", "services", "secrets", "volumes"} == {
        "x-psychemme",
        "x-construction",
    }
    assert {key for service in SERVICES.values() for key in service} <= KNOWN_KEYS


def test_no_port_is_open_beyond_loopback():
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
    # On the host's network it keeps to its default, which the server bounds to loopback.
    on_host = [name for name, one in SERVICES.items() if one.get("network_mode") == "host"]
    assert on_host == ["review"]
    assert "--host" not in SERVICES["review"]["command"]


def test_each_service_gets_the_secrets_of_its_roles_only():
    given = {name: set(service.get("secrets", ())) for name, service in SERVICES.items()}
    assert given == {
        "database": {"postgres"},
        "setup": {"setup"},
        "review": {"review"},
        "scheduler": set(),
        "worker": {"construction"},
        "psychemme": {"construction"},
    }
    for name, service in SERVICES.items():
        environment = service.get("environment", {})
        named = environment.get("PSYCHEMME_DATABASE_SECRETS", "/run/secrets/postgres")
        assert {named.removeprefix("/run/secrets/")} == given[name] or not given[name]
        assert not [key for key in environment if "PASSWORD" in key and not key.endswith("_FILE")]


def test_the_page_makes_every_secret_and_none_is_open_to_others(checkout):
    for secret in FILE["secrets"].values():
        assert stat.S_IMODE((checkout / secret["file"]).stat().st_mode) == 0o600
    assert stat.S_IMODE((checkout / "secrets").stat().st_mode) == 0o700
    files = {name: (checkout / FILE["secrets"][name]["file"]).read_text() for name in HOLDS}
    held = {name: tomllib.loads(text) for name, text in files.items()}
    assert {name: set(values) for name, values in held.items()} == HOLDS
    assert all(
        held["setup"][login] == one for values in held.values() for login, one in values.items()
    )
    assert len(set(held["setup"].values())) == len(held["setup"])
    assert all(len(one) == 32 for one in held["setup"].values())
    assert (checkout / "secrets" / "postgres").read_text().strip() == held["setup"]["admin"]
    assert (checkout / SERVICES["worker"]["env_file"]).exists()
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert {"/secrets/", "/.env"} <= set(ignored)


def test_what_stays_is_watched_and_what_is_named_exists():
    for name, service in SERVICES.items():
        stays = "restart" in service
        assert stays == ("healthcheck" in service) == (name not in ("setup", "psychemme"))
        assert set(service.get("depends_on", ())) <= SERVICES.keys()
        assert set(service.get("secrets", ())) <= FILE["secrets"].keys()
    mounts = [volume for service in SERVICES.values() for volume in service.get("volumes", ())]
    sources = {re.sub(r"\$\{\w+:-(.*?)\}", r"\1", mount).split(":")[0] for mount in mounts}
    assert {source for source in sources if not source.startswith(".")} == FILE["volumes"].keys()


def test_every_variable_has_a_default():
    assert not re.findall(r"\$\{\w+\}|\$[A-Za-z]\w*", TEXT)


def test_the_image_holds_what_the_services_run():
    image = (ROOT / "Dockerfile").read_text("utf-8")
    assert "requirements/team.txt" in image
    locked = (ROOT / "requirements" / "team.txt").read_text("utf-8")
    assert all(f"\n{name}==" in f"\n{locked}" for name in ("distributed", "fsspec", "psycopg"))
    assert {"build", "image"} <= FILE["x-psychemme"].keys()
    for name, service in SERVICES.items():
        assert (service["image"] == FILE["x-psychemme"]["image"]) == (name != "database")


@dataclass(frozen=True)
class Machine:
    """Stands for an engine: secrets and volumes are folders, services are ports of loopback."""

    root: Path
    names: dict[str, str]
    """What the file says -> what it is here."""

    def here(self, text: str) -> str:
        text = re.sub(r"\$\{(\w+):-(.*?)\}", lambda m: self.names.get(m[1], m[2]), text)
        for name in sorted((n for n in self.names if not n.isupper()), key=len, reverse=True):
            text = text.replace(name, self.names[name])
        return text

    def words(self, name: str, *instead: str) -> list[str]:
        """Return the command line of a service, or `instead` of its command."""
        service = SERVICES[name]
        image = (ROOT / "Dockerfile").read_text("utf-8")
        first = service.get("entrypoint") or json.loads(
            next(re.finditer(r"^ENTRYPOINT (.*)$", image, re.M))[1]
        )
        command = service.get("command", [])
        words = shlex.split(self.here(command)) if isinstance(command, str) else command
        return [*first, *(instead or words)]

    def environment(self, name: str) -> dict[str, str]:
        """Return all that a service's processes know."""
        given = SERVICES[name].get("environment", {})
        programs = (Path(sys.executable).parent, binaries() or "", "/usr/bin", "/bin")
        base = {"PATH": ":".join(map(str, programs)), "HOME": str(self.root), "COLUMNS": "200"}
        return base | {key: self.here(value) for key, value in given.items()}

    def run(self, name: str, *instead: str) -> str:
        """Run a service to its end and return what it printed."""
        done = subprocess.run(
            self.words(name, *instead),
            cwd=self.root / "workspace",
            env=self.environment(name),
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def is_healthy(self, name: str) -> bool:
        """Run a service's health check."""
        kind, *words = SERVICES[name]["healthcheck"]["test"]
        assert kind == "CMD"
        environment = self.environment(name) | {"PGPORT": self.names["5432"]}
        ran = subprocess.run(
            [self.here(word) for word in words], env=environment, capture_output=True
        )
        return ran.returncode == 0

    @contextmanager
    def up(self, name: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a service until the end of the context, from when it is healthy."""
        log = self.root / f"{name}.log"
        assert not self.is_healthy(name)
        with log.open("wb") as file:
            process = subprocess.Popen(
                self.words(name),
                cwd=self.root / "workspace",
                env=self.environment(name),
                stdout=file,
                stderr=file,
            )
        try:
            deadline = time.monotonic() + DEADLINE
            while not self.is_healthy(name):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.2)
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        # The page's server ends by the signal, after it has finished the requests in hand.
        assert process.returncode in (0, -signal.SIGTERM), log.read_text()
        assert not self.is_healthy(name)


@pytest.fixture(scope="module")
def machine(checkout, tmp_path_factory) -> Machine:
    port = str(server().port)
    root = tmp_path_factory.mktemp("machine")
    shutil.copytree(checkout / "secrets", root / "secrets")
    for path in (root / "secrets").glob("*.toml"):  # the server is there, with passwords of its own
        lines = (
            f'{n} = "{PASSWORDS[n].get_secret_value()}"' for n in tomllib.loads(path.read_text())
        )
        path.write_text("\n".join(lines))
    (root / "workspace").mkdir()
    free = {name: free_port() for name in ("8765", "8786", "8788")}
    return Machine(
        root,
        free
        | {
            "5432": port,
            "PSYCHEMME_DATABASE_PORT": port,
            "PSYCHEMME_REVIEW_OPTIONS": f"--port {free['8765']}",
            "database:": "127.0.0.1:",
            "scheduler:": "127.0.0.1:",
            "0.0.0.0": "127.0.0.1",
            **{
                f"/run/secrets/{name}": str(root / secret["file"])
                for name, secret in FILE["secrets"].items()
            },
        },
    )


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_service_runs_and_they_work_together(machine):
    assert machine.is_healthy("database")
    for _ in range(2):  # as with every `up`
        assert "Workspace ready" in machine.run("setup")
    scheduler = machine.here("tcp://scheduler:8786")
    with machine.up("scheduler"), machine.up("worker"), machine.up("review"):
        machine.run("psychemme", "clips", "add", str(SAMPLE / "ladder.mp4"))
        machine.run("psychemme", "prepare", "--cluster", scheduler)
        signal_run = ("generate", "--model", "signal", "--count", "6", "--cluster", scheduler)
        machine.run("psychemme", *signal_run)
        shown = json.loads(machine.run("psychemme", "candidates", "list", "--json"))
        assert len(shown) == 6
        assert not {one["state"] for one in shown} & {"failed", "pending"}
        machine.run("psychemme", "review", "invite", "ada", "--name", "Ada", "--background", "PhD")
        machine.run("psychemme", "review", "open", "--reviewers", "1")
    assert "curator's link" in (machine.root / "review.log").read_text()
    assert "no faults" in machine.run("setup", "psychemme db check")
    first = machine.run("psychemme", "db", "export", str(machine.root / "moved"))
    assert "keep it as private" in first
    (machine.root / "file").mkdir()
    own = {"PATH": machine.environment("setup")["PATH"], "HOME": str(machine.root)}
    for words in (["init"], ["db", "import", "../moved"], ["db", "export", "../again"]):
        subprocess.run(
            ["psychemme", *words], cwd=machine.root / "file", env=own, check=True, timeout=DEADLINE
        )
    for path in (machine.root / "moved").iterdir():
        assert path.read_bytes() == (machine.root / "again" / path.name).read_bytes()

"""Run verbs in processes forked from one that has everything imported: they start at once.

Such a process can be killed like any other, and `hook` runs in it before the verb does.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import NoReturn

from tests.support.commands import environment

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "construction.runs",
        "construction.graph",
        "psychemme.cli.main",
        "psychemme.clients.openai_compatible",
        "state.engines.postgres",
    ]
)


@dataclass
class Verb:
    """A verb at work, and the file of what it says."""

    process: ForkServerProcess
    log: Path

    def wait(self, seconds: float = 120) -> int:
        """Return the exit code, negative for a signal."""
        self.process.join(seconds)
        assert self.process.exitcode is not None, f"still at work: {self.said}"
        return self.process.exitcode

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""


@contextmanager
def verb(
    workspace: Path, *words: str, hook: Callable[[], None] | None = None, **extra: str
) -> Iterator[Verb]:
    """Start a verb on `workspace`, and kill it where it is still at work in the end."""
    log = workspace.with_name(f"{workspace.name}.log")
    process = FORKS.Process(target=_run, args=(workspace, words, environment(**extra), log, hook))
    process.start()
    try:
        yield Verb(process, log)
    finally:
        process.kill()
        process.join()


def _run(
    workspace: Path,
    words: tuple[str, ...],
    variables: dict[str, str],
    log: Path,
    hook: Callable[[], None] | None,
) -> NoReturn:
    from psychemme.cli.main import main

    os.environ.clear()
    os.environ.update(variables)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for stream in (1, 2):
        os.dup2(handle, stream)
    sys.argv = ["psychemme", "--workspace", str(workspace), *words]
    if hook is not None:
        hook()
    main()
    sys.exit(0)

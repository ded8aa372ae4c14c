"""What travels between coordinator and workers: text that a person could read, and no secret.

A worker brings its own passwords, API keys and shuffle key. Settings that say how to reach an
endpoint are the coordinator's unless the worker has its own.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeVar

from construction.endpoints import Spending
from construction.plan import EpisodeLimits
from construction.runs import Job
from psychemme import errors
from psychemme.canonical import canonical_json
from psychemme.config import Effective, Settings
from psychemme.errors import PsychemmeError, ReplyError, RunError, Stopped, UserError
from psychemme.media.blobs import BlobStore
from psychemme.media.settings import AsrModel

_OF_THE_RUN = frozenset(
    {
        "model",
        "question_model",
        "answer_model",
        "critic_model",
        "temperature",
        "max_output_tokens",
        "input_price",
        "output_price",
        "requests_per_minute",
        "tokens_per_minute",
        "seed",
    }
)
_OF_ENDPOINTS = frozenset({"base_url", "timeout", "max_retries"})


@dataclass(frozen=True)
class Order:
    """The job as a worker gets it."""

    version: str
    lease: str
    preparation: int
    pins: Mapping[str, str]
    settings: Mapping[str, Any]
    cache: bool
    marker: str


@dataclass(frozen=True)
class ClipOrder:
    """How a worker measures clips; `asr_model` is the speech model's SHA-256."""

    version: str
    marker: str
    asr: str
    asr_model: str | None
    limits: Mapping[str, Any]


OrderT = TypeVar("OrderT", Order, ClipOrder)


def own_version() -> str:
    """Return the version of this installation."""
    return version("psychemme")


def written(job: Job, marker: str) -> str:
    """Return `job` as text for a worker; `marker` is a blob that it must find."""
    settings = job.settings.model_dump(mode="json", include=set(_OF_THE_RUN | _OF_ENDPOINTS))
    return canonical_json(
        {
            "version": own_version(),
            "lease": job.lease,
            "preparation": job.preparation,
            "pins": dict(job.pins),
            "settings": settings,
            "cache": job.spending.cache,
            "marker": marker,
        }
    )


def read(text: str, kind: type[OrderT]) -> OrderT:
    """Return the order in `text`; raises RunError where another version wrote it."""
    values = json.loads(text)
    refuse_differences({"package version": values["version"]}, {"package version": own_version()})
    return kind(**values)


def clips_written(
    settings: Settings, limits: EpisodeLimits, model: AsrModel | None, marker: str
) -> str:
    """Return how clips are measured as text for a worker."""
    return canonical_json(
        {
            "version": own_version(),
            "marker": marker,
            "asr": settings.asr,
            "asr_model": model and model.sha256,
            "limits": limits.model_dump(mode="json"),
        }
    )


def refuse_other_media(marker: str, blobs: BlobStore) -> None:
    """Raise RunError where this worker does not see what the coordinator stored."""
    if not blobs.holds(marker):
        raise RunError(
            "This worker does not see the media of the run.",
            "Give coordinator and workers the same `media` setting, or one workspace folder.",
        )


def job_of(order: Order, own: Effective) -> Job:
    """Return the job of a worker with the settings `own`."""
    kept = {name for name in _OF_ENDPOINTS if own.origins[name] != "default"}
    sent = {name: value for name, value in order.settings.items() if name not in kept}
    settings = own.settings.model_copy(update=sent)
    return Job(settings, order.preparation, order.pins, Spending(cache=order.cache), order.lease)


def refuse_differences(wanted: Mapping[str, str], held: Mapping[str, str]) -> None:
    """Raise RunError naming everything of `wanted` that this worker holds otherwise."""
    differing = [
        f"{name} is {held.get(name)}, of the run {value}"
        for name, value in wanted.items()
        if held.get(name) != value
    ]
    if differing:
        raise RunError(
            f"This worker differs from the run: {'; '.join(differing)}.",
            "Install the same version there and give it a copy of the same workspace folder.",
        )


def report(fault: PsychemmeError) -> dict[str, str]:
    """Return `fault` as a worker reports it."""
    if isinstance(fault, UserError):
        return {"fault": type(fault).__name__, "problem": fault.problem, "action": fault.action}
    return {"fault": type(fault).__name__, "problem": str(fault)}


def raise_reported(outcome: Mapping[str, str], worker: str) -> None:
    """Raise the fault that `worker` reported, if it did."""
    name = outcome.get("fault")
    if name == "ReplyError":
        raise ReplyError(outcome["problem"])
    if name == "Stopped":
        raise Stopped(outcome["problem"])
    if name is not None:
        kind: type[UserError] = getattr(errors, name)
        raise kind(f"Worker {worker}: {outcome['problem']}", outcome["action"])

"""A chat completions server on the loopback, for tests: it counts, answers, delays and fails.

As a module: `with ModelServer(...) as server: ... server.url`. As a process of its own, which
outlives what it serves: `python tests/support/model_server.py --port 0 --log FILE` prints its port,
and `repeats(FILE)` tells which requests came more than once.

Without canned replies they are computed from the request alone: valid, the same for the same body,
and mixed by its hash so that every route of the construction graph occurs.
"""

import argparse
import hashlib
import json
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

SCHEMA_NOTE = "Reply with one JSON object of this schema:"
ROLES = {
    "Proposal": "question",
    "IndependentAnswer": "answer",
    "Critique": "critic",
    "EvaluatedReply": "evaluated",
    "Judgement": "judge",
    "EntailmentReply": "entailment",
}
_FAST = {"retry-after-ms": "5"}


@dataclass(frozen=True)
class Fault:
    """A response that holds no reply."""

    status: int
    body: str
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=lambda: _FAST)
    pace: str = "at once"
    """How the body leaves: `at once`, `cut` in the middle, or in a `drip` that never ends."""


def _error(code: str | None, param: str | None = None) -> str:
    # Endpoints do quote keys and prompts in their messages.
    return json.dumps({"error": {"message": "SERVER-TEXT", "code": code, "param": param}})


def _choice(content: str | None, finish_reason: str, **message: str) -> str:
    return json.dumps(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "served",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": content, **message},
                    "finish_reason": finish_reason,
                }
            ],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }
    )


FAULTS = {
    "unauthorized": Fault(401, _error("invalid_api_key")),
    "unpaid": Fault(402, _error(None)),
    "forbidden": Fault(403, _error(None)),
    "not_found": Fault(404, _error("model_not_found")),
    "rejected": Fault(400, _error("context_length_exceeded", "messages")),
    "no_model": Fault(400, _error("model_not_found", "model")),
    "no_max_tokens": Fault(400, _error("unsupported_parameter", "max_tokens")),
    "no_temperature": Fault(400, _error("unsupported_value", "temperature")),
    "filtered_request": Fault(400, _error("content_filter", "prompt")),
    "too_large": Fault(413, "too large", "text/plain"),
    "throttled": Fault(429, _error("rate_limit_exceeded")),
    "throttled_bare": Fault(429, _error("rate_limit_exceeded"), headers={}),
    "broken": Fault(500, _error("server_error")),
    "unavailable": Fault(503, "<html>busy</html>", "text/html"),
    "no_choices": Fault(200, json.dumps({"id": "1", "choices": None})),
    "empty_choices": Fault(200, json.dumps({"id": "1", "choices": []})),
    "error_body": Fault(200, _error("overloaded")),
    "html": Fault(200, "<html>sign in</html>", "text/html"),
    "html_as_json": Fault(200, "<html>sign in</html>"),
    "no_content": Fault(200, _choice(None, "stop")),
    "empty": Fault(200, _choice("", "stop")),
    "truncated": Fault(200, _choice('{"answer": "A', "length")),
    "content_filter": Fault(200, _choice(None, "content_filter")),
    "refusal": Fault(200, _choice(None, "stop", refusal="I cannot help with that.")),
    "gibberish": Fault(200, _choice("certainly! {", "stop")),
    "wrong_schema": Fault(200, _choice('{"verdict": "fine"}', "stop")),
    "cut": Fault(200, _choice("{}", "stop"), pace="cut"),
    "drip": Fault(200, _choice("{}", "stop"), pace="drip"),
}
"""Faults by class; `drop` (closes the connection) and `hang` (never answers) come on top."""


@dataclass(frozen=True)
class Call:
    """A request as it came in: the SHA-256 of its body, its role and its place in the order."""

    hash: str
    role: str
    number: int
    body: dict[str, Any]
    authorization: str

    @property
    def system(self) -> str:
        return self.body["messages"][0]["content"]

    @property
    def user(self) -> str:
        content = self.body["messages"][1]["content"]
        return content if isinstance(content, str) else content[0]["text"]


Replies = Mapping[str, str] | Callable[[Call], str]


class ModelServer:
    """Serves `POST .../chat/completions` and `.../embeddings` from threads of its own.

    `replies` is a mapping role -> text or a function of the call, computed by default; `fault`
    returns the class of fault for a call, None for a reply; `delay` is in seconds; `log` gets one
    JSON line a call; with `key`, any other key is refused. `embed` gives the vector of an input.
    """

    def __init__(
        self,
        replies: Replies | None = None,
        *,
        fault: Callable[[Call], str | None] = lambda call: None,
        delay: float = 0.0,
        log: Path | None = None,
        key: str | None = None,
        port: int = 0,
        embed: Callable[[Any], list[float]] | None = None,
    ) -> None:
        self._embed = embed or bag_of_words
        self.calls: list[Call] = []
        self.most_at_once = 0
        self._replies = computed if replies is None else replies
        self._fault, self._delay, self._log, self._key = fault, delay, log, key
        self._at_once = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = _Http(("127.0.0.1", port), _handler(self))
        self.port: int = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> "ModelServer":
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()

    def serve(self) -> None:
        self._http.serve_forever(poll_interval=0.02)

    def wait(self, seconds: float) -> bool:
        """Wait, and return whether the server is closing."""
        return self._closing.wait(seconds)

    def count(self, role: str | None = None) -> int:
        return sum(role in (None, call.role) for call in self.calls)

    def answer(self, body: bytes, authorization: str) -> Fault | None:
        """Return the response to a request; None where the connection is to be dropped."""
        call = self._received(body, authorization)
        try:
            return self._response(call)
        finally:
            with self._lock:
                self._at_once -= 1

    def _received(self, body: bytes, authorization: str) -> Call:
        parsed = json.loads(body)
        with self._lock:
            hashed = hashlib.sha256(body).hexdigest()
            call = Call(hashed, role_of(parsed), len(self.calls), parsed, authorization)
            self.calls.append(call)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            if self._log is not None:
                with self._log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"hash": call.hash, "role": call.role}) + "\n")
        return call

    def _response(self, call: Call) -> Fault | None:
        if self._key is not None and call.authorization != f"Bearer {self._key}":
            return FAULTS["unauthorized"]
        name = self._fault(call)
        if name in ("hang", "drop"):
            self._closing.wait(60 if name == "hang" else 0)
            return None
        time.sleep(self._delay)
        if name is not None:
            return FAULTS[name]
        if call.role == "embedding":
            rows = [
                {"object": "embedding", "index": at, "embedding": self._embed(one)}
                for at, one in enumerate(call.body["input"])
            ]
            return Fault(200, json.dumps({"object": "list", "data": rows, "model": "served"}))
        replies = self._replies
        text = replies(call) if callable(replies) else replies[call.role]
        return Fault(200, _choice(text, "stop"))


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body leave in one packet: else each reply waits 40 ms for an acknowledgement.
        wbufsize = -1

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if not self.path.endswith(("/v1/chat/completions", "/v1/embeddings")):
                response: Fault | None = Fault(404, "no such page", "text/plain")
            else:
                response = server.answer(body, self.headers.get("authorization", ""))
            if response is None:
                self.close_connection = True
                return
            content = response.body.encode()
            self.send_response(response.status)
            headers = {"content-type": response.content_type, "content-length": str(len(content))}
            for name, value in (headers | dict(response.headers)).items():
                self.send_header(name, value)
            self.end_headers()
            if response.pace == "at once":
                self.wfile.write(content)
                return
            self.wfile.write(content[: len(content) // 2])
            self.wfile.flush()
            while response.pace == "drip" and not server.wait(0.2):
                self.wfile.write(b" ")
                self.wfile.flush()
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def role_of(body: Mapping[str, Any]) -> str:
    """Return the role a request is for, by the title of the schema in its system message."""
    if "input" in body:
        return "embedding"
    _, note, schema = body["messages"][0]["content"].rpartition(SCHEMA_NOTE)
    title = json.loads(schema).get("title") if note else None
    return ROLES.get(title, "unknown")


def repeats(log: Path) -> int:
    """Return how many calls in `log` were the same as an earlier one."""
    lines = log.read_text(encoding="utf-8").splitlines()
    counts = Counter(json.loads(line)["hash"] for line in lines)
    return sum(count - 1 for count in counts.values())


def computed(call: Call) -> str:
    """Return a valid reply that depends on the request's body alone."""
    makers = {
        "question": _proposal,
        "answer": _independent_answer,
        "critic": _critique,
        "evaluated": _evaluated,
        "judge": _judgement,
        "entailment": _entailment,
    }
    return json.dumps(makers[call.role](call.user, Random(call.hash)))


_PEOPLE = ("the person on the left", "the person on the right", "the one who sits", "the visitor")
_DEEDS = ("asks for help", "turns down an offer", "waits for a reply", "changes the subject",
          "looks at the door", "repeats a request", "picks up the cup", "keeps silent")  # fmt: skip


def _proposal(user: str, chance: Random) -> dict[str, Any]:
    luck = chance.random()
    if luck < 0.1:
        return {"declined": "nothing in the episode bears on the target"}
    form, duration = _format(user), float(_find(r"^Duration: ([\d.]+) s$", user))
    card = _block("capability", user)
    texts = [
        f"{person} {deed}" for person, deed in zip(_PEOPLE, _shuffled(_DEEDS, chance), strict=False)
    ]
    options = [] if form == "open" else [
        {"id": "ABCD"[i], "text": text} for i, text in enumerate(texts)
    ]  # fmt: skip
    question = {
        "subcategory": chance.choice(re.findall(r"^- (\w+), .+: ", _subcategories(card), re.M)),
        "question": f"Which holds of the scene ({chance.randrange(10**6)})?",
        "options": options,
    }
    if "Decision time: required" in card:
        question["decision_time"] = round(duration * 0.8, 2)
    reference = {
        "answer": _right(form, options) if options else texts[0],
        "cues": _cues(user, duration, is_late=luck < 0.25),
        "key_points": [] if options else [{"text": texts[0], "required": True}],
        "rationale": "what can be seen decides it",
    }
    return {"question": question, "reference": reference}


def _cues(user: str, duration: float, *, is_late: bool) -> list[dict[str, Any]]:
    """A visual cue and, where something is said, a speech cue; `is_late` puts one outside."""
    end = duration + 5 if is_late else duration * 0.5
    cues = [{"start": 0.0, "end": end, "modality": "visual", "description": "two people"}]
    said = re.search(r"^\[([\d.]+)-([\d.]+)\]", _block("transcript", user), re.M)
    if said is not None and float(said[2]) <= duration - 0.02:
        start, end = float(said[1]), float(said[2])
        cues.append({"start": start, "end": end, "modality": "speech", "description": "they speak"})
    return cues


def _independent_answer(user: str, chance: Random) -> dict[str, Any]:
    luck, form = chance.random(), _format(user)
    if luck < 0.1:
        flag = "ambiguous" if luck < 0.05 else "insufficient_support"
        return {"flag": flag, "rationale": "it cannot be told"}
    lines = re.findall(r"^([A-Z])\. (.+)$", _block("options", user), re.M)
    options = [{"id": letter, "text": text} for letter, text in lines]
    answer = _right(form, options, by=1 if luck < 0.3 else 0) if options else "as seen in the scene"
    return {"answer": answer, "rationale": "what is seen and said"}


def _critique(user: str, chance: Random) -> dict[str, Any]:
    luck, disagrees = chance.random(), "the two answers disagree" in user
    verdicts: dict[str, Any] = dict.fromkeys(
        ("cue_support", "logical_coherence", "capability_alignment"), luck > 0.1
    )
    if _format(user) == "open":
        full = 1.0 if luck < 0.8 else 0.5
        verdicts |= {"reference_given_answer": 1.0, "answer_given_reference": full}
        disagrees = full < 1
    if luck < 0.1:
        verdicts["proposal_defects"] = [{"code": "ambiguous_referent"}]
    elif disagrees and chance.random() < 0.6:
        verdicts["reasoning_defects"] = ["partial_viewing"]
    return verdicts | {"comment": "compared both"}


def _evaluated(user: str, chance: Random) -> dict[str, Any]:
    lines = re.findall(r"^([A-Z])\. (.+)$", _block("options", user), re.M)
    options = [{"id": letter, "text": text} for letter, text in lines]
    by = 0 if chance.random() < 0.7 else 1
    answer = _right(_format(user), options, by) if options else "they ask for help"
    said = "the words in the transcript show it" if chance.random() < 0.9 else None
    return {"answer": answer} | dict.fromkeys("GWNTSAMR") | {"G": said}


_SUPPORT = ("strong", "normal", "weak", "contradicted", "insufficient")
_LOGIC = ("fully_coherent", "acceptable", "weak", "contradictory", "unevaluable")


def _judgement(user: str, chance: Random) -> dict[str, Any]:
    return {
        "evidence_reason": "the cue shows it",
        "logic_reason": "it follows",
        "evidence_support": chance.choice(_SUPPORT),
        "logical_integrity": chance.choice(_LOGIC),
        "answer_credit": chance.choice((0, 0.5, 1)) if _format(user) == "open" else None,
    }


def _entailment(user: str, _: Random) -> dict[str, Any]:
    """Options of the same words, in whatever order, entail each other."""
    one, other = (sorted(text.split()) for text in re.findall(r"^[AB]\. (.+)$", user, re.M))
    return {"reason": "so they say", "a_entails_b": one == other, "b_entails_a": one == other}


def bag_of_words(given: Any) -> list[float]:
    """Return how often the words of a text fall into each of 64 buckets."""
    found = [0.0] * 64
    for word in re.findall(r"\w+", str(given).lower()):
        found[int(hashlib.sha256(word.encode()).hexdigest(), 16) % 64] += 1
    return found


def _right(form: str, options: list[dict[str, str]], by: int = 0) -> str | list[str]:
    """The right options are those whose texts hash lowest, so that both agents can find them."""
    ranked = sorted(options, key=lambda o: hashlib.sha256(o["text"].encode()).digest())
    ids = [option["id"] for option in ranked]
    return ids[by] if form == "single" else sorted(ids[by : by + 2])


def _format(user: str) -> str:
    return _find(r"^Format: (\w+): ", user)


def _subcategories(card: str) -> str:
    return card.partition("Subcategories (id, name, definition):")[2]


def _block(name: str, text: str) -> str:
    return _find(rf"^<{name}>\n(.*?)\n</{name}>$", text)


def _find(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.M | re.S)
    if found is None:
        raise ValueError(f"the prompt holds nothing like {pattern}")
    return found[1]


def _shuffled(values: tuple[str, ...], chance: Random) -> list[str]:
    return chance.sample(values, len(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each reply")
    parser.add_argument("--key", help="refuse any other API key")
    parser.add_argument("--fault", choices=[*FAULTS, "drop", "hang"], help="a class of fault")
    parser.add_argument("--every", type=int, default=1, help="let every Nth call meet the fault")
    given = parser.parse_args()

    def fault(call: Call) -> str | None:
        return given.fault if (call.number + 1) % given.every == 0 else None

    server = ModelServer(
        fault=fault, delay=given.delay, log=given.log, key=given.key, port=given.port
    )
    print(server.port, flush=True)  # noqa: T201
    server.serve()


if __name__ == "__main__":
    main()

"""Write votes that no person cast, to show the way from review to a release.

    python examples/demonstration_votes.py WORKSPACE FILE

Five imaginary reviewers approve most items. Which ones somebody rejects follows from the item's
id alone, so that the same items always get the same votes. Import the file with
`psychemme review import FILE --demonstration`: such votes freeze into an example release only.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

REVIEWERS = tuple(f"demonstration-{number}" for number in range(1, 6))
ONE_IN = 8
"""One item in so many is rejected by one reviewer, and one answered otherwise at first."""


def main(workspace: Path, file: Path) -> None:
    """Write one vote of every reviewer on every item under review."""
    listed = {f"{one['run']}-{one['id']}": one for one in captured(workspace, "candidates", "list")}
    votes = [
        vote(listed[item["candidate"]], item["version"], number)
        for item in captured(workspace, "review", "status")
        for number in range(len(REVIEWERS))
    ]
    lines = (json.dumps(one, ensure_ascii=False, sort_keys=True) + "\n" for one in votes)
    file.write_text("".join(lines), encoding="utf-8")
    print(f"{len(votes)} demonstration votes -> {file}")


def vote(candidate: dict[str, Any], version: int, number: int) -> dict[str, Any]:
    """Return the vote of one imaginary reviewer on one candidate."""
    lot = hashlib.sha256(candidate["id"].encode()).digest()
    is_rejected = lot[0] % ONE_IN == 0 and lot[1] % len(REVIEWERS) == number
    strays = lot[2] % ONE_IN == 0 and lot[3] % len(REVIEWERS) == number
    verdicts = dict.fromkeys(
        ("question_validity", "answer_correctness", "psychological_consistency"), "approve"
    )
    reasons = {}
    if is_rejected:
        verdicts["question_validity"] = "reject"
        reasons["question_validity"] = ["needs_no_clip"]
    return {
        "candidate_id": f"{candidate['run']}-{candidate['id']}",
        "version": version,
        "reviewer": REVIEWERS[number],
        "blind_answer": other(candidate) if strays else candidate["answer"],
        "verdicts": verdicts,
        "reasons": reasons,
        "comment": "On a second look the reference is right." if strays else "",
    }


def other(candidate: dict[str, Any]) -> str | list[str]:
    """Return an answer that is not the reference."""
    ids = [option["id"] for option in candidate["options"]]
    if candidate["format"] == "single":
        return next(name for name in ids if name != candidate["answer"])
    return ids if candidate["format"] == "multiple" else "I am not sure."


def captured(workspace: Path, *words: str) -> list[dict[str, Any]]:
    """Return what a command prints as JSON."""
    command = ["psychemme", "--workspace", str(workspace), *words, "--json"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: list[dict[str, Any]] = json.loads(printed)
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

"""Check configurations, tasks and votes by Label Studio's own SDK; print the outcome as JSON."""

import json
import sys
from pathlib import Path

from label_studio_sdk.label_interface import LabelInterface

folder = Path(sys.argv[1])
shown = {}
for step in ("answer", "verdict"):
    label = LabelInterface((folder / f"{step}.xml").read_text("utf-8"))
    label.validate()
    tasks = json.loads((folder / f"{step}.json").read_text("utf-8"))
    votes = json.loads((folder / f"votes-{step}.json").read_text("utf-8"))
    results = [r for task in votes for a in task["annotations"] for r in a["result"]]
    shown[step] = {
        "tasks": [bool(label.validate_task(task)) for task in tasks],
        "results": {r["from_name"]: bool(label.validate_region(r)) for r in results},
        "controls": sorted(control.name for control in label.controls),
    }
sys.stdout.write(json.dumps(shown))

"""Run an exported task by inspect_ai against its own mock model, which answers "A"; print JSON."""

import json
import os
import sys

from inspect_ai import eval as run_eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

folder, logs = sys.argv[1:]
os.chdir(folder)


def outputs():
    while True:
        output = ModelOutput.from_content("mockllm/model", '{"answer": "A"}')
        # Without a usage the mock counts tokens with a table that it downloads.
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        yield output


model = get_model("mockllm/model", custom_outputs=outputs())
log = run_eval("task.py", model=model, log_dir=logs, display="none")[0]
assert log.status == "success", log.error and log.error.message
shown = {
    "count": len(log.samples),
    "options": {str(sample.id): sample.choices or [] for sample in log.samples},
    "answers": {str(s.id): list(s.target) for s in log.samples if s.target},
    "videos": sorted({part.type for s in log.samples for part in s.input[1].content}),
    "scores": {score.name: score.scored_samples for score in log.results.scores},
    "metrics": {s.name: {n: m.value for n, m in s.metrics.items()} for s in log.results.scores},
    "log": log.location,
}
sys.stdout.write(json.dumps(shown))

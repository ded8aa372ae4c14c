"""Load an exported task by lmms-eval's TaskManager, and run its evaluator with its dummy model.

The dummy answers "A" and reads a byte of each video. Prints what was loaded and scored as JSON,
and saves the samples as lmms-eval does.
"""

import json
import sys

from lmms_eval.evaluator import simple_evaluate
from lmms_eval.loggers.evaluation_tracker import EvaluationTracker
from lmms_eval.protocol import ChatMessages
from lmms_eval.tasks import TaskManager

folder, name, logs = sys.argv[1:]
manager = TaskManager("ERROR", include_path=folder, include_defaults=False)
chat = manager.load_task_or_group([name], task_type="chat")[name]
docs = list(chat.test_docs())
media = [ChatMessages(messages=chat.doc_to_messages(doc)).extract_media() for doc in docs]
tracker = EvaluationTracker(output_path=logs)
tracker.date_id = "day"
tracker.general_config_tracker.model_name_sanitized = "dummy"
run = simple_evaluate(
    model="dummy",
    model_args="response=A,read_bytes=1",
    tasks=[name],
    task_manager=manager,
    bootstrap_iters=0,
    batch_size=1,
    evaluation_tracker=tracker,
    verbosity="ERROR",
)
tracker.save_results_samples(task_name=name, samples=run["samples"][name])
shown = {
    "count": len(docs),
    "options": {doc["id"]: doc["options"] for doc in docs},
    "answers": {doc["id"]: doc["answer"] for doc in docs if doc.get("answer")},
    "targets": {doc["id"]: chat.doc_to_target(doc) for doc in docs},
    "videos": [videos for _, videos, _ in media],
    "cluster": chat.config.cluster_key,
    "results": {key: str(value) for key, value in run["results"][name].items()},
}
sys.stdout.write("\n" + json.dumps(shown))

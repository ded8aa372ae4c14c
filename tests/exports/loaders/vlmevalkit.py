"""Use an exported class as VLMEvalKit would, with stand-ins for what it imports of the kit.

The kit itself is on no registry. The stand-ins do what its `VideoBaseDataset` and `load` do with
the table; the table is read by pandas, as there.
"""

import json
import os
import runpy
import sys
import types
from pathlib import Path

import pandas as pd

folder, name = Path(sys.argv[1]), sys.argv[2]
os.environ["PSYCHEMME_EXPORT"] = str(folder)


def load(path):
    return pd.read_csv(path, sep="\t")


class VideoBaseDataset:
    def __init__(self, dataset="", pack=False):
        found = self.prepare_dataset(dataset)
        self.data_root, self.data_file = found["root"], found["data_file"]
        self.data = load(self.data_file)
        assert {"index", "question", "video"} <= set(self.data)

    def save_video_frames(self, video, num_frames=8, fps=-1):
        assert (Path(self.data_root) / f"{video}.mp4").is_file()
        return [f"frame of {video}"]


kit = {"vlmeval": {}, "vlmeval.dataset": {}, "vlmeval.smp": {"load": load}}
kit["vlmeval.dataset.video_base"] = {"VideoBaseDataset": VideoBaseDataset}
for module, names in kit.items():
    sys.modules[module] = types.ModuleType(module)
    vars(sys.modules[module]).update(names)

made = runpy.run_path(str(folder / f"{name}.py"))[name]
assert made.supported_datasets() == [name]
dataset = made(dataset=name)
as_video = [dataset.build_prompt(i, video_llm=True) for i in range(len(dataset.data))]
as_frames = dataset.build_prompt(0, video_llm=False)
predicted = Path(sys.argv[3]) / "model_table.tsv"
replies = ['{"answer": "A"}'] * (len(dataset.data) - 1) + ["Failed to obtain answer via API."]
dataset.data.assign(prediction=replies).to_csv(predicted, sep="\t", index=False)
rows = dataset.data.to_dict("records")
shown = {
    "count": len(rows),
    "options": {row["item_id"]: json.loads(row["candidates"]) for row in rows},
    "answers": {r["item_id"]: list(r["answer"]) for r in rows if isinstance(r.get("answer"), str)},
    "videos": [next(x["value"] for x in m if x["type"] == "video") for m in as_video],
    "frames": [part["type"] for part in as_frames],
    "scores": dataset.evaluate(str(predicted)).to_dict("records")[0],
    "responses": predicted.with_suffix(".responses.jsonl").read_text("utf-8"),
}
sys.stdout.write(json.dumps(shown))

"""A video dataset for VLMEvalKit.

Copy it into `vlmeval/dataset/`, add the class to `VIDEO_DATASET` there and set PSYCHEMME_EXPORT to
this export's folder. Written for its `VideoBaseDataset`.
Benchmark data, never to be trained on; canary CANARY
"""
# mypy: ignore-errors
# ruff: noqa: ANN001, ANN003, ANN201, ANN202, ANN204, ANN206, ARG003, F401, I001, N801

import json
import os
import re
from pathlib import Path

import pandas as pd

from vlmeval.dataset.video_base import VideoBaseDataset

from reading import is_readable, read_answer, response_line

FAILED = "Failed to obtain answer via API."


class psychemme_release(VideoBaseDataset):
    """One row an item; the prompt is in the table."""

    TYPE = "Video-MCQ"

    def __init__(self, dataset="psychemme_release", pack=False, nframe=0, fps=1):
        super().__init__(dataset=dataset, pack=pack)
        self.nframe, self.fps = nframe, fps

    @classmethod
    def supported_datasets(cls):
        """Return the one name."""
        return ["psychemme_release"]

    def prepare_dataset(self, dataset):
        """Return where videos and table are."""
        root = Path(os.environ["PSYCHEMME_EXPORT"])
        return {"root": str(root / "videos"), "data_file": str(root / f"{dataset}.tsv")}

    def build_prompt(self, line, video_llm=False):
        """Return the message: the episode's window as a video or as frames, then the prompt."""
        row = self.data.iloc[line] if isinstance(line, int) else line
        video = str(Path(self.data_root) / row["video_path"])
        if video_llm:
            seen = [{"type": "video", "value": video}]
        else:
            frames = self.save_video_frames(Path(row["video_path"]).stem, self.nframe, self.fps)
            seen = [{"type": "image", "value": frame} for frame in frames]
        system = {"type": "text", "value": row["system"], "role": "system"}
        return [system, *seen, {"type": "text", "value": row["prompt"]}]

    @classmethod
    def evaluate(cls, eval_file, **judge_kwargs):
        """Return shares of readable and of right choice answers; write responses beside the file.

        A request that failed has no response and no score: `failed` counts them.
        """
        from vlmeval.smp import load

        rows = load(eval_file).to_dict("records")
        answered = [row for row in rows if FAILED not in str(row["prediction"])]
        model = Path(eval_file).stem
        lines = [response_line(str(r["item_id"]), model, str(r["prediction"])) for r in answered]
        responses = Path(eval_file).with_suffix(".responses.jsonl")
        responses.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        scores = {"n": len(rows), "failed": len(rows) - len(answered)}
        return pd.DataFrame([scores | _shares(answered)])


def _shares(rows):
    readable, right = [], []
    for row in rows:
        ids = json.loads(row["option_ids"])
        readable.append(is_readable(str(row["prediction"]), ids))
        # Without references there is no such column; open items have none.
        if isinstance(reference := row.get("answer"), str) and reference:
            right.append(read_answer(str(row["prediction"]), ids) == list(reference))
    shares = {"readable": readable, "choice_accuracy": right}
    return {name: sum(found) / len(found) for name, found in shares.items() if found}


# <reading replies>

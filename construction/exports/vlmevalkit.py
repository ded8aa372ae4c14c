"""A table and a dataset class for VLMEvalKit, which takes a table alone for images."""

import csv
import io
import json
from pathlib import Path

from construction.exports.asked import code, facts_of, notes, prompt_of, video_of, write_windows
from construction.exports.card import readme
from construction.exports.source import Source, video_name, write_text
from psychemme.items import Option
from psychemme.release.rows import EpisodeRow, QuestionRow

_RUN = """\
cp {slug}.py VLMEvalKit/vlmeval/dataset/    # and add the class {slug} to its VIDEO_DATASET
PSYCHEMME_EXPORT=THIS_FOLDER python run.py --data {slug} --model MODEL
psychemme score --release RELEASE --responses outputs/MODEL/NAME.responses.jsonl"""
_COLUMNS = ("index", "item_id", "video", "video_path", "question", "candidates")
_FACTS = ("capability", "subcategory", "format", "option_ids", "duration", "episode_id", "canary")


def write(source: Source, folder: Path) -> list[str]:
    """Write the table, the class, `windows.jsonl` and README below `folder`; return notes."""
    letters = sorted({o.id for q in source.release.questions.values() for o in q.options})
    answer = [] if source.references is None else ["answer"]
    columns = [*_COLUMNS, *letters, *answer, *_FACTS, "system", "prompt"]
    rows = [_row(source, index, *item) for index, item in enumerate(source.items())]
    write_text(folder / f"{source.slug}.tsv", _table(columns, rows))
    write_text(folder / f"{source.slug}.py", code("vlmeval_dataset.py", source))
    write_windows(source, folder)
    said = [*notes(source), "This format was checked against the tool's source and not run by it."]
    write_text(folder / "README.md", readme(source, said, _RUN.format(slug=source.slug)))
    return said


def _row(
    source: Source, index: int, question: QuestionRow, episode: EpisodeRow
) -> dict[str, object]:
    prompt = prompt_of(question, episode)
    facts = facts_of(source, question, episode)
    return {
        "index": index,
        "item_id": question.id,
        "video": video_name(episode.id).removesuffix(".mp4"),
        "video_path": Path(video_of(episode)).name,
        "question": question.question,
        "candidates": json.dumps([_text(option) for option in question.options]),
        **{option.id: _text(option) for option in question.options},
        "answer": "".join(source.answer(question) or []),
        **facts | {"option_ids": json.dumps(facts["option_ids"])},
        "system": prompt.system,
        "prompt": prompt.user,
    }


def _text(option: Option) -> str:
    return option.text


def _table(columns: list[str], rows: list[dict[str, object]]) -> str:
    out = io.StringIO(newline="")
    # All is quoted, for a carriage return alone would else end a row.
    writer = csv.DictWriter(
        out,
        columns,
        delimiter="\t",
        extrasaction="ignore",
        lineterminator="\n",
        quoting=csv.QUOTE_ALL,
    )
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()

"""A task folder for lmms-eval, found by its `--include_path`."""

from pathlib import Path

from construction.exports.asked import (
    MAX_TOKENS,
    code,
    facts_of,
    notes,
    prompt_of,
    video_of,
    write_windows,
)
from construction.exports.card import readme
from construction.exports.source import Source, write_lines, write_text
from psychemme.release.rows import EpisodeRow, QuestionRow

_TASK = """\
# Benchmark data, never to be trained on; canary {canary}
task: {slug}
dataset_path: json
dataset_kwargs:
  data_files:
    test: questions.jsonl
test_split: test
output_type: generate_until
cluster_key: episode_id
doc_to_visual: !function utils.doc_to_visual
doc_to_text: !function utils.doc_to_text
doc_to_messages: !function utils.doc_to_messages
doc_to_target: !function utils.doc_to_target
process_results: !function utils.process_results
generation_kwargs:
  max_new_tokens: {tokens}
  temperature: 0
  do_sample: false
metric_list:
{metrics}
metadata:
  - version: {version}
"""
_METRIC = """\
  - metric: {name}
    aggregation: !function utils.mean
    higher_is_better: true"""
_RUN = """\
lmms-eval --model MODEL --include_path THIS_FOLDER --tasks {slug} --log_samples --output_path logs
python utils.py logs/MODEL/*_samples_{slug}.jsonl MODEL > responses.jsonl
psychemme score --release RELEASE --responses responses.jsonl"""


def write(source: Source, folder: Path) -> list[str]:
    """Write the task's YAML, `utils.py`, `questions.jsonl` and README below `folder`."""
    metrics = ["readable"] if source.references is None else ["readable", "choice_accuracy"]
    task = _TASK.format(
        canary=source.canary,
        slug=source.slug,
        tokens=MAX_TOKENS,
        metrics="\n".join(_METRIC.format(name=name) for name in metrics),
        version=1.0,
    )
    write_text(folder / f"{source.slug}.yaml", task)
    write_text(folder / "utils.py", code("lmms_utils.py", source))
    write_lines(folder / "questions.jsonl", (_row(source, *item) for item in source.items()))
    write_windows(source, folder)
    said = notes(source)
    write_text(folder / "README.md", readme(source, said, _RUN.format(slug=source.slug)))
    return said


def _row(source: Source, question: QuestionRow, episode: EpisodeRow) -> dict[str, object]:
    prompt = prompt_of(question, episode)
    answer = {} if source.references is None else {"answer": source.answer(question) or []}
    return {
        "id": question.id,
        "system": prompt.system,
        "user": prompt.user,
        "question": question.question,
        "options": [option.text for option in question.options],
        "video": video_of(episode),
        **facts_of(source, question, episode),
        **answer,
    }

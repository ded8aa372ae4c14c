"""A dataset and a task file for inspect_ai."""

from pathlib import Path

from construction.exports.asked import code, facts_of, notes, prompt_of, video_of, write_windows
from construction.exports.card import readme
from construction.exports.source import Source, write_lines, write_text
from psychemme.release.rows import EpisodeRow, QuestionRow

_RUN = """\
inspect eval task.py --model MODEL
python task.py logs/LOG.eval MODEL > responses.jsonl
psychemme score --release RELEASE --responses responses.jsonl"""


def write(source: Source, folder: Path) -> list[str]:
    """Write `task.py`, `questions.jsonl` and README below `folder`; return notes."""
    write_text(folder / "task.py", code("inspect_task.py", source))
    write_lines(folder / "questions.jsonl", (_row(source, *item) for item in source.items()))
    write_windows(source, folder)
    said = notes(source)
    write_text(folder / "README.md", readme(source, said, _RUN))
    return said


def _row(source: Source, question: QuestionRow, episode: EpisodeRow) -> dict[str, object]:
    prompt = prompt_of(question, episode)
    video = {"type": "video", "video": video_of(episode), "format": "mp4"}
    options = [option.text for option in question.options]
    return {
        "id": question.id,
        "input": [
            {"role": "system", "content": prompt.system},
            {"role": "user", "content": [video, {"type": "text", "text": prompt.user}]},
        ],
        "metadata": facts_of(source, question, episode),
        **({"choices": options} if options else {}),
        **({"target": answer} if (answer := source.answer(question)) else {}),
    }

"""Make the bundled sample: `python examples/sample/generate.py [--out DIR] [CLIP ...]`.

Writes the clips, the sidecar transcript and `ground_truth.json`. The same scripts give the same
bytes on one machine, because eSpeak NG carries state from one utterance to the next and each clip
therefore gets a process of its own.
"""

import argparse
import json
import math
import multiprocessing
import subprocess
import tempfile
import wave
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import drawing
import imageio_ffmpeg
import numpy as np
import numpy.typing as npt
import speech
from dialogue import (
    LEAD_IN,
    Clip,
    Dialogues,
    Spoken,
    ground_truth,
    load,
    pieces,
    subtitles,
)

HERE = Path(__file__).resolve().parent
FPS = 12
_EASE = 0.3
"""Seconds a gesture takes to rise and to fall."""
_QUIET = ["-loglevel", "error", "-y"]
# One thread and no encoder names, so that the bytes do not depend on the machine's cores.
_CODECS = [
    *("-c:v", "libx264", "-preset", "slow", "-crf", "26", "-threads:v", "1"),
    *("-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "40k", "-movflags", "+faststart"),
    *("-fflags", "+bitexact", "-flags:v", "+bitexact", "-flags:a", "+bitexact"),
    *("-map_metadata", "-1"),
]
_HEADER = {"schema_version": 1, "licence": "CC0-1.0", "consent": "synthetic", "source": "sample"}


def main() -> None:
    """Generate the named clips, or all of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("clips", nargs="*", metavar="CLIP", help="clip ids; default: all")
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write to")
    options = parser.parse_args()
    dialogues = load(HERE / "dialogues.yaml")
    known = [clip.id for clip in dialogues.clips]
    if unknown := sorted(set(options.clips) - set(known)):
        parser.error(f"no clip {', '.join(unknown)}; choose from {', '.join(known)}")
    options.out.mkdir(parents=True, exist_ok=True)
    chosen = [clip for clip in dialogues.clips if not options.clips or clip.id in options.clips]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn, max_tasks_per_child=1) as pool:
        jobs = [pool.submit(make_clip, dialogues, clip, options.out) for clip in chosen]
        truths = [job.result() for job in jobs]
    _write_truths(options.out / "ground_truth.json", known, truths)


def make_clip(dialogues: Dialogues, clip: Clip, out: Path) -> dict[str, object]:
    """Write one clip (and its sidecar) to `out`; return its ground truth."""
    voices, spoken = speak(dialogues, clip)
    duration = round(voices.shape[1] / speech.sample_rate(), 3)
    with tempfile.TemporaryDirectory() as folder:
        audio = Path(folder) / "speech.wav"
        _write_wave(audio, voices.sum(axis=0))
        _encode(_frames(dialogues, clip, voices, spoken), audio, out / f"{clip.id}.mp4")
    if clip.sidecar:
        (out / f"{clip.id}.srt").write_text(subtitles(clip, spoken), encoding="utf-8")
    print(f"{clip.id}: {duration} s")
    return ground_truth(clip, spoken, duration)


def speak(dialogues: Dialogues, clip: Clip) -> tuple[npt.NDArray[np.float32], list[Spoken]]:
    """Return one track per seat, shape (seats, samples), and the pieces with their times."""
    rate = speech.sample_rate()
    spoken: list[Spoken] = []
    waves: list[speech.Wave] = []
    now = LEAD_IN
    for index, line in enumerate(clip.lines):
        for piece in pieces(line):
            waves.append(speech.synthesise(piece.text, dialogues.speakers[line.speaker].voice))
            end = round(now + waves[-1].size / rate, 3)
            spoken.append(Spoken(index, piece, now, end))
            now = round(end + piece.pause, 3)
    frames = math.ceil(now * FPS)
    tracks = np.zeros((len(clip.seats), math.ceil(frames * rate / FPS)), np.float32)
    for part, samples in zip(spoken, waves, strict=True):
        seat = clip.seats.index(clip.lines[part.line].speaker)
        first = round(part.start * rate)
        tracks[seat, first : first + samples.size] += samples
    return tracks, spoken


def _frames(
    dialogues: Dialogues, clip: Clip, voices: npt.NDArray[np.float32], spoken: list[Spoken]
) -> list[drawing.Image]:
    looks = [dialogues.speakers[name].look for name in clip.seats]
    mouths = [_envelope(track) for track in voices]
    empty = drawing.background(clip.scene)
    return [
        drawing.frame(
            empty,
            looks,
            [
                _pose(clip, spoken, seat, number / FPS, float(mouth[number]))
                for seat, mouth in enumerate(mouths)
            ],
        )
        for number in range(mouths[0].size)
    ]


def _envelope(track: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return how loud each video frame is, 0 to 1."""
    step = speech.sample_rate() / FPS
    bounds = (np.arange(round(track.size / step)) * step).round().astype(int)
    power = np.add.reduceat(track**2, bounds) / step
    loud = np.sqrt(power) / max(float(np.sqrt(power).max()), 1e-6)
    return np.asarray(np.where(loud > 0.03, np.clip(loud * 1.3, 0.15, 1), 0), np.float32)


def _pose(clip: Clip, spoken: list[Spoken], seat: int, time: float, mouth: float) -> drawing.Pose:
    """Return how the speaker in `seat` sits at `time` seconds."""
    current = max((s.line for s in spoken if s.start <= time), default=0)
    line = clip.lines[current]
    talking = clip.seats[seat] == line.speaker
    other = clip.seats.index(line.to if talking else line.speaker)
    own = [s for s in spoken if s.line == current]
    inside = min(time - own[0].start, own[-1].end + _EASE - time)
    share = min(1.0, max(0.0, inside / _EASE)) if talking else 0.0
    return drawing.Pose(
        mouth=mouth,
        blink=(time + 1.3 * seat) % 3.7 < 0.17,
        facing=float(np.sign(other - seat)),
        gesture=line.gesture if talking else "none",
        gesture_share=share,
        sway=math.sin(2 * math.pi * 1.6 * (time - own[0].start)),
        holds=line.holds,
    )


def _write_wave(path: Path, samples: speech.Wave) -> None:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, speech.sample_rate(), 0, "NONE", "not compressed"))
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())


def _encode(frames: list[drawing.Image], audio: Path, target: Path) -> None:
    size = f"{drawing.WIDTH}x{drawing.HEIGHT}"
    pictures = f"-f rawvideo -pix_fmt rgb24 -s {size} -r {FPS} -i -".split()
    command = [imageio_ffmpeg.get_ffmpeg_exe(), *_QUIET, *pictures, "-i", str(audio), *_CODECS]
    pixels = b"".join(frame.tobytes() for frame in frames)
    subprocess.run([*command, str(target)], input=pixels, check=True)


def _write_truths(path: Path, order: list[str], truths: list[dict[str, object]]) -> None:
    """Write the ground truth; clips not made this time keep what the file says of them."""
    known = json.loads(path.read_text(encoding="utf-8"))["clips"] if path.exists() else []
    by_id = {clip["id"]: clip for clip in [*known, *truths]}
    value = {**_HEADER, "clips": [by_id[name] for name in order if name in by_id]}
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

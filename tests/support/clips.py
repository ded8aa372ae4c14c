"""A clip whose pictures and sound are known, for tests of what is sent."""

import subprocess
from fractions import Fraction
from pathlib import Path

import av
import imageio_ffmpeg
import numpy as np

FPS, RATE, WIDTH, HEIGHT = 10, 16_000, 96, 64
TONE = 440.0
"""Hertz."""


def picture(number: int) -> np.ndarray:
    """Brightness tells the frame; a white block marks the upper left corner."""
    image = np.full((HEIGHT, WIDTH, 3), 20 + 2 * number, dtype=np.uint8)
    image[:16, :16] = 255
    return image


def write_clip(path: Path, seconds: int = 8, rotation: int = 0) -> Path:
    """Write a clip whose frame i is at i / FPS seconds, with a tone in its second half."""
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=FPS)
        video.width, video.height, video.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        video.codec_context.options = {"crf": "10", "preset": "veryfast"}
        sound = container.add_stream("aac", rate=RATE, layout="mono")
        for number in range(seconds * FPS):
            frame = av.VideoFrame.from_ndarray(picture(number), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, FPS)
            container.mux(video.encode(frame))
        container.mux(video.encode(None))
        times = np.arange(seconds * RATE) / RATE
        tone = np.where(times >= seconds / 2, 0.5 * np.sin(2 * np.pi * TONE * times), 0)
        for at in range(0, len(tone), 1024):
            block = tone[at : at + 1024].astype(np.float32)[None]
            heard = av.AudioFrame.from_ndarray(block, format="fltp", layout="mono")
            heard.sample_rate, heard.pts, heard.time_base = RATE, at, Fraction(1, RATE)
            container.mux(sound.encode(heard))
        container.mux(sound.encode(None))
    return turned(path, rotation) if rotation else path


def turned(path: Path, degrees: int) -> Path:
    """Return a copy of the clip that players show turned."""
    target = path.with_name("turned.mp4")
    subprocess.run(
        [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-display_rotation", str(degrees),
         "-i", path, "-c", "copy", target],
        check=True,
    )  # fmt: skip
    return target

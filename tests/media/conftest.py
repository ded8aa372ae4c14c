"""Clips made on the spot: the frame's number is written into its pixels, the sound is known."""

import subprocess
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import av
import imageio_ffmpeg
import numpy as np
import pytest

BITS = 10
BLOCK = 16
WIDTH, HEIGHT = BITS * BLOCK, 96
SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def picture(number: int) -> np.ndarray:
    """The number in binary as bright and dark blocks along the top; a bright lower left corner."""
    image = np.full((HEIGHT, WIDTH, 3), 16, dtype=np.uint8)
    for bit in range(BITS):
        if number >> bit & 1:
            image[:32, bit * BLOCK : (bit + 1) * BLOCK] = 235
    image[64:, :32] = 235
    return image


def read_number(image: np.ndarray) -> int:
    """Read back the number from an upright picture of any size."""
    height, width = image.shape[:2]
    row = image[int(height / 6), :, 0]
    return sum(1 << bit for bit in range(BITS) if row[int((bit + 0.5) * width / BITS)] > 128)


def write_video(
    path: Path,
    times: Sequence[float],
    time_base: Fraction = Fraction(1, 90_000),
    codec: str = "libx264",
    key_every: int = 50,
    **options: str,
) -> Path:
    """Write a video whose frame i is presented at `times[i]` seconds and shows i."""
    with av.open(str(path), "w", **options) as container:
        stream = container.add_stream(codec, rate=30)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.codec_context.time_base = time_base
        stream.codec_context.gop_size = key_every
        stream.codec_context.options = {"crf": "18", "preset": "veryfast"}
        for number, time in enumerate(times):
            frame = av.VideoFrame.from_ndarray(picture(number), format="rgb24")
            frame.pts, frame.time_base = round(time / time_base), time_base
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def run_ffmpeg(*arguments: object) -> None:
    """Run the bundled ffmpeg quietly."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def number_in() -> Callable[[np.ndarray], int]:
    """Return the function that reads a frame's number from its picture."""
    return read_number


@pytest.fixture
def ffmpeg() -> Callable[..., None]:
    """Return the function that runs ffmpeg."""
    return run_ffmpeg


@pytest.fixture
def make_video(tmp_path: Path) -> Callable[..., Path]:
    """Make `name` in the test's folder: `make_video("a.mp4", times)`."""

    def make(name: str, times: Sequence[float], **options: object) -> Path:
        return write_video(tmp_path / name, times, **options)

    return make


@pytest.fixture(scope="session")
def talking_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four seconds of numbered frames with a 440 Hz tone that starts at 1.5 s."""
    folder = tmp_path_factory.mktemp("talking")
    silent = write_video(folder / "silent.mp4", [i / 25 for i in range(100)])
    clip = folder / "clip.mp4"
    tone = "sine=frequency=440:sample_rate=48000:duration=4,volume='if(gte(t,1.5),1,0)':eval=frame"
    run_ffmpeg("-i", silent, "-f", "lavfi", "-i", tone, "-c:v", "copy", "-c:a", "aac", clip)
    return clip


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real clips and speech; tests that need them skip where they are absent."""
    if not SHARED.is_dir():
        pytest.skip("shared test data is absent")
    return SHARED

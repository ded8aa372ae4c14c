"""Speech for the sample dialogues, synthesised by eSpeak NG through ctypes."""

import ctypes
import functools
from dataclasses import dataclass

import espeakng_loader
import numpy as np
import numpy.typing as npt

Wave = npt.NDArray[np.float32]
"""Mono audio in [-1, 1], shape (samples,)."""

_SYNCHRONOUS = 2
_RATE, _PITCH, _RANGE = 1, 3, 4
_UTF8 = 1
_SEED = 1
_SILENCE = 0.004


@dataclass(frozen=True)
class Voice:
    """An eSpeak voice: `name` with an optional `+variant`, words a minute, pitch 0 to 100."""

    name: str
    rate: int
    pitch: int
    pitch_range: int = 50


@functools.cache
def _library() -> tuple[ctypes.CDLL, int]:
    library = ctypes.CDLL(espeakng_loader.get_library_path())
    data = espeakng_loader.get_data_path().encode()
    sample_rate = library.espeak_Initialize(_SYNCHRONOUS, 0, data, 0)
    if sample_rate <= 0:
        raise RuntimeError(f"eSpeak NG did not start with its data in {data.decode()}")
    return library, int(sample_rate)


def sample_rate() -> int:
    """Return the samples per second of every synthesised wave."""
    return _library()[1]


def synthesise(text: str, voice: Voice) -> Wave:
    """Return `text` spoken by `voice`, peak 0.8, without silence at either end."""
    library, _ = _library()
    library.espeak_ng_SetRandSeed(_SEED)
    blocks: list[npt.NDArray[np.int16]] = []

    def collect(samples: object, count: int, _events: object) -> int:
        if samples and count:
            blocks.append(np.ctypeslib.as_array(samples, (count,)).copy())
        return 0

    kind = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
    )
    callback = kind(collect)
    library.espeak_SetSynthCallback(callback)
    if library.espeak_SetVoiceByName(voice.name.encode()) != 0:
        raise ValueError(f"eSpeak NG has no voice {voice.name!r}")
    for parameter, value in (
        (_RATE, voice.rate),
        (_PITCH, voice.pitch),
        (_RANGE, voice.pitch_range),
    ):
        library.espeak_SetParameter(parameter, value, 0)
    # Words without a full stop are spoken as a thought that goes on.
    encoded = (text if text[-1] in ".?!," else f"{text},").encode()
    library.espeak_Synth(encoded, len(encoded) + 1, 0, 0, 0, _UTF8, None, None)
    return _trim(np.concatenate(blocks).astype(np.float32))


def _trim(wave: Wave) -> Wave:
    wave = wave / np.abs(wave).max() * np.float32(0.8)
    loud = np.flatnonzero(np.abs(wave) > _SILENCE)
    return wave[loud[0] : loud[-1] + 1]

"""Every clip is prepared or refused with a reason; none stops the others."""

import shutil

import pytest

from psychemme.errors import ConfigError
from psychemme.media import prepare
from psychemme.media.blobs import BlobStore, sha256_file
from psychemme.media.episode_media import episode_audio, episode_media
from psychemme.media.prepare import NO_ASR, prepare_clip, prepare_clips
from psychemme.media.settings import MediaSettings

OFF = MediaSettings(asr="off")
SRT = "1\n00:00:01,000 --> 00:00:02,500\nANNA: Hello there\n"


@pytest.fixture
def blobs(tmp_path):
    return BlobStore(tmp_path / "store")


@pytest.fixture
def folder(tmp_path, talking_clip, make_video, ffmpeg):
    """Good and bad clips under one roof."""
    folder = tmp_path / "clips"
    folder.mkdir()
    shutil.copy(talking_clip, folder / "talk 'one'.mp4")
    make_video("mute.mp4", [i / 25 for i in range(60)]).rename(folder / "-mute é.mp4")
    make_video("short.mp4", [0, 0.1, 0.2]).rename(folder / "short.mp4")
    ffmpeg("-i", talking_clip, "-af", "volume=0", "-c:v", "copy", folder / "silent.mp4")
    ffmpeg("-i", talking_clip, "-vn", folder / "sound.m4a")
    (folder / "empty.mp4").touch()
    (folder / "cut.mp4").write_bytes(talking_clip.read_bytes()[:5000])
    shutil.copy(talking_clip, folder / "subtitled.mp4")
    (folder / "subtitled.srt").write_text(SRT)
    shutil.copy(talking_clip, folder / "broken.mp4")
    (folder / "broken.srt").write_text("?")
    return folder


def in_this_process(jobs, settings, blobs):
    return [(key, prepare_clip(path, key, settings, blobs)) for path, key in jobs]


@pytest.mark.parametrize(
    "run", [in_this_process, pytest.param(prepare_clips, marks=pytest.mark.slow)]
)
def test_good_and_bad_clips_together(folder, blobs, run):
    jobs = [(p, sha256_file(p) + p.name) for p in sorted(folder.iterdir()) if p.suffix != ".srt"]
    done = dict(run(jobs, OFF, blobs))
    assert len(done) == len(jobs) == 9
    by_name = {path.name: done[key] for path, key in jobs}
    refused = {name: clip.problem for name, clip in by_name.items() if clip.is_refused}
    assert set(refused) == {"short.mp4", "sound.m4a", "empty.mp4", "cut.mp4", "broken.mp4"}
    assert all(by_name[name].action for name in refused)
    assert "broken.srt" in refused["broken.mp4"]
    assert "under 1 s" in refused["short.mp4"]
    assert by_name["subtitled.mp4"].transcript[0].text == "Hello there"
    assert by_name["subtitled.mp4"].transcript_source == "sidecar"
    for name in ("-mute é.mp4", "silent.mp4", "talk 'one'.mp4"):
        assert by_name[name].transcript_source == "none"
        assert by_name[name].signals.faces


def test_finished_stages_are_not_repeated(talking_clip, blobs, monkeypatch):
    first = prepare_clip(talking_clip, "a" * 64, OFF, blobs)
    for name in ("probe", "measure", "load_audio"):
        monkeypatch.setattr(prepare, name, None)
    assert prepare_clip(talking_clip, "a" * 64, OFF, blobs) == first
    with pytest.raises(TypeError):
        prepare_clip(talking_clip, "b" * 64, OFF, blobs)


def test_a_corrected_sidecar_is_read_again(folder, blobs):
    clip = folder / "broken.mp4"
    assert prepare_clip(clip, "a" * 64, OFF, blobs).is_refused
    clip.with_suffix(".srt").write_text(SRT)
    assert prepare_clip(clip, "a" * 64, OFF, blobs).transcript[0].text == "Hello there"
    clip.with_suffix(".srt").write_text(SRT.replace("Hello", "Goodbye"))
    assert prepare_clip(clip, "a" * 64, OFF, blobs).transcript[0].text == "Goodbye there"


def test_a_clip_that_takes_too_long_is_refused_and_not_remembered(talking_clip, blobs, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(prepare, "_BASE_LIMIT", 0.0)
        ((_, clip),) = prepare_clips([(talking_clip, "a" * 64)], OFF, blobs)
    assert "longer than its length allows" in clip.problem
    assert not prepare_clip(talking_clip, "a" * 64, OFF, blobs).is_refused


def test_a_missing_model_is_told_before_any_work(talking_clip, blobs, tmp_path):
    with pytest.raises(ConfigError, match=r"model\.bin"):
        next(prepare_clips([(talking_clip, "a")], MediaSettings(asr=str(tmp_path)), blobs))


def test_unheard_speech_is_warned_of(shared_data, blobs, monkeypatch):
    monkeypatch.setattr("psychemme.media.settings.is_bundled_installed", lambda: False)
    clip = shared_data / "clips" / "short_hamilton_clip.mp4"
    prepared = prepare_clip(clip, "a" * 64, MediaSettings(), blobs)
    assert prepared.warnings == (NO_ASR,)
    assert prepared.transcript_source == "none"
    assert prepare_clip(clip, "a" * 64, OFF, blobs).warnings == ()


def test_episode_frames_are_stored_within_the_episode(talking_clip, blobs, number_in):
    listed = episode_media(talking_clip, 1.0, 3.5, OFF, blobs)
    assert [time for time, _ in listed] == [0.0, 1.0, 2.0]
    assert all(blobs.path(sha256).read_bytes()[:2] == b"\xff\xd8" for _, sha256 in listed)
    assert episode_media(talking_clip, 1.0, 3.5, OFF, blobs, sha256="a" * 64) == listed
    assert episode_media(talking_clip.parent, 1.0, 3.5, OFF, blobs, sha256="a" * 64) == listed


def test_episode_sound_is_stored_where_there_is_any(talking_clip, make_video, blobs):
    sha256 = episode_audio(talking_clip, 1.0, 2.0, blobs)
    assert sha256 is not None
    assert blobs.path(sha256).stat().st_size == 44 + 2 * 16_000
    assert episode_audio(make_video("m.mp4", [0, 1.0]), 0, 1, blobs) is None


@pytest.mark.slow
def test_real_clips_are_all_accounted_for(shared_data, blobs):
    jobs = [(p, sha256_file(p)) for p in sorted((shared_data / "clips").iterdir())]
    done = dict(prepare_clips(jobs, MediaSettings(), blobs, workers=1))
    assert set(done) == {sha256 for _, sha256 in jobs}
    assert not any(clip.is_refused for clip in done.values())
    again = dict(prepare_clips(jobs, MediaSettings(), blobs, workers=2))
    assert again == done

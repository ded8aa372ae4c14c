"""Facts of good clips, and a reason and next action for each that cannot be used."""

import shutil

import pytest

from psychemme.errors import MediaError
from psychemme.media.frames import sample_frames
from psychemme.media.probe import probe

STEADY = [i / 25 for i in range(100)]


def refusal(path) -> str:
    with pytest.raises(MediaError) as caught:
        probe(path)
    assert caught.value.action
    return caught.value.problem


def test_steady_clip(make_video):
    facts = probe(make_video("a.mp4", STEADY))
    assert (facts.duration, facts.frame_rate, facts.variable_frame_rate) == (4.0, 25.0, False)
    assert (facts.width, facts.height, facts.rotation) == (160, 96, 0)
    assert (facts.video_codec, facts.audio_codec, facts.start_time) == ("h264", None, 0.0)


def test_ntsc_rate_is_steady_even_in_milliseconds(make_video):
    facts = probe(make_video("a.mkv", [i * 1001 / 30000 for i in range(150)]))
    assert facts.frame_rate == pytest.approx(29.97, abs=0.01)
    assert not facts.variable_frame_rate


def test_variable_rate_is_told(make_video):
    assert probe(make_video("a.mp4", [0, 0.04, 0.08, 0.5, 0.54])).variable_frame_rate


def test_single_picture_has_no_rate(make_video):
    assert probe(make_video("a.mp4", [0.0])).frame_rate is None


def test_audio_and_start_time(talking_clip, ffmpeg, tmp_path):
    late = tmp_path / "late.ts"
    ffmpeg("-i", talking_clip, "-c", "copy", "-output_ts_offset", 5, late)
    facts = probe(late)
    assert facts.audio_codec == "aac"
    assert facts.start_time > 4
    assert facts.duration == pytest.approx(4.0, abs=0.1)


def test_rotated_size_is_as_displayed(make_video, ffmpeg):
    plain = make_video("a.mp4", STEADY)
    turned = plain.with_name("turned.mp4")
    ffmpeg("-display_rotation", 90, "-i", plain, "-c", "copy", turned)
    facts = probe(turned)
    assert (facts.width, facts.height, facts.rotation) == (96, 160, 270)


def test_pixels_that_are_not_square_widen_the_picture(make_video, ffmpeg):
    plain = make_video("a.mp4", STEADY)
    wide = plain.with_name("wide.mp4")
    ffmpeg("-i", plain, "-vf", "setsar=2", wide)
    assert (probe(wide).width, probe(wide).height) == (320, 96)


def test_duration_is_measured_where_the_container_has_none(make_video, ffmpeg):
    plain = make_video("a.mp4", [i / 25 for i in range(300)])
    live = plain.with_name("live.mkv")
    ffmpeg("-i", plain, "-c", "copy", "-f", "matroska", "-live", 1, live)
    assert probe(live).duration == pytest.approx(12.0, abs=0.05)
    frames = list(sample_frames(live, [0, 5.0, 10.0], max_side=160))
    assert [f.time for f in frames] == pytest.approx([0, 5.0, 10.0])


@pytest.mark.parametrize(
    "name",
    ["two words.mp4", 'it\'s "quoted".mp4', "-y.mp4", "été 映画 🎬.mp4", "a%03d.mp4", "a:b.mp4"],
)
def test_any_name_is_only_a_name(make_video, name, tmp_path, monkeypatch):
    shutil.move(make_video("a.mp4", STEADY), tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert probe(type(tmp_path)(name)).duration == 4.0


def test_refusals_name_the_reason(make_video, ffmpeg, tmp_path, talking_clip):
    whole = make_video("whole.mp4", STEADY).read_bytes()
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "no_index.mp4").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "noise.mp4").write_bytes(bytes(range(256)) * 40)
    ffmpeg("-i", talking_clip, "-vn", "-c:a", "copy", tmp_path / "sound.m4a")
    ffmpeg("-i", tmp_path / "whole.mp4", "-c", "copy", tmp_path / "raw.h264")
    assert "zero bytes" in refusal(tmp_path / "empty.mp4")
    assert "cannot be decoded" in refusal(tmp_path / "no_index.mp4")
    assert "cannot be decoded" in refusal(tmp_path / "noise.mp4")
    assert "no video stream" in refusal(tmp_path / "sound.m4a")
    assert "no timestamps" in refusal(tmp_path / "raw.h264")
    assert "directory" in refusal(tmp_path)
    assert "not a file" in refusal(tmp_path / "missing.mp4")
    assert "not named in Unicode" in refusal(tmp_path / "\udcff.mp4")


@pytest.mark.parametrize("kind", ["mp4", "mkv"])
def test_a_clip_that_ends_early_is_truncated(talking_clip, ffmpeg, tmp_path, kind):
    whole, part = tmp_path / f"whole.{kind}", tmp_path / f"part.{kind}"
    flags = ["-movflags", "+faststart"] if kind == "mp4" else []
    ffmpeg("-stream_loop", 4, "-i", talking_clip, "-c", "copy", *flags, whole)
    data = whole.read_bytes()
    part.write_bytes(data[: int(len(data) * 0.6)])
    assert "truncated" in refusal(part) or "cannot be decoded" in refusal(part)


def test_cover_art_is_no_video(talking_clip, ffmpeg, tmp_path):
    cover, song = tmp_path / "cover.png", tmp_path / "song.m4a"
    ffmpeg("-i", talking_clip, "-frames:v", 1, cover)
    ffmpeg(
        "-i", talking_clip, "-i", cover, "-map", "0:a", "-map", "1:v",
        "-c:a", "copy", "-c:v", "png", "-disposition:v", "attached_pic", song,
    )  # fmt: skip
    assert "no video stream" in refusal(song)


def test_a_playlist_opens_no_other_file(make_video, tmp_path):
    make_video("secret.mp4", STEADY)
    for name, text in {
        "list.mp4": "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nsecret.mp4\n#EXT-X-ENDLIST\n",
        "concat.mp4": "ffconcat version 1.0\nfile secret.mp4\n",
    }.items():
        (tmp_path / name).write_text(text)
        assert "cannot be decoded" in refusal(tmp_path / name)


def test_real_clips(shared_data):
    facts = {path.name: probe(path) for path in (shared_data / "clips").iterdir()}
    assert len(facts) == 9
    assert facts["latentsync_demo3.mp4"].video_codec == "hevc"
    assert facts["latentsync_demo3.mp4"].height > facts["latentsync_demo3.mp4"].width
    assert facts["noface_face.mov"].variable_frame_rate
    assert facts["mmaction_demo.mp4"].audio_codec is None
    assert facts["googlework_short.mp4"].duration == pytest.approx(35.1, abs=0.05)

"""Windows are cut exactly, upright and playable, whatever the file is called."""

import pytest

from psychemme.errors import MediaError
from psychemme.media.audio import load_audio
from psychemme.media.cut import cut_window
from psychemme.media.frames import sample_frames
from psychemme.media.probe import probe


def test_window_has_the_asked_frames_and_sound(talking_clip, tmp_path, number_in):
    target = tmp_path / "new folder" / "cut.mp4"
    cut_window(talking_clip, target, 1.0, 3.0)
    facts = probe(target)
    assert (facts.video_codec, facts.audio_codec) == ("h264", "aac")
    assert facts.duration == pytest.approx(2.0, abs=0.08)
    frames = list(sample_frames(target, [0.0, 1.0], max_side=160))
    assert [number_in(f.image) for f in frames] == [25, 50]
    assert abs(load_audio(target)[: 16_000 // 3]).max() < 0.01
    assert [p.name for p in target.parent.iterdir()] == ["cut.mp4"]


def test_playable_at_once_and_repeatable(talking_clip, tmp_path):
    first, second = tmp_path / "1.mp4", tmp_path / "2.mp4"
    cut_window(talking_clip, first, 0.0, 2.0)
    cut_window(talking_clip, second, 0.0, 2.0)
    data = first.read_bytes()
    assert data == second.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")
    assert b"avc1" in data


def test_tall_turned_pictures_come_out_small_and_upright(make_video, ffmpeg, tmp_path):
    plain = make_video("a.mp4", [i / 25 for i in range(50)])
    tall = plain.with_name("tall.mp4")
    ffmpeg("-display_rotation", 90, "-i", plain, "-c", "copy", tall)
    cut_window(tall, tmp_path / "cut.mp4", 0, 1, max_height=81)
    facts = probe(tmp_path / "cut.mp4")
    assert (facts.width, facts.height, facts.rotation) == (48, 80, 0)
    assert facts.audio_codec is None


@pytest.mark.parametrize("name", ['it\'s "a" b.mp4', "-i.mp4", "映画 %03d.mp4", "a:b,c;[d].mp4"])
def test_any_name_is_only_a_name(make_video, tmp_path, name, monkeypatch):
    source = make_video("plain.mp4", [i / 25 for i in range(50)]).rename(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    cut_window(type(source)(name), type(source)(f"out {name}"), 0, 1)
    assert probe(tmp_path / f"out {name}").duration == pytest.approx(1.0, abs=0.08)


def test_faults_leave_nothing_behind(tmp_path):
    source = tmp_path / "noise.mp4"
    source.write_bytes(b"noise" * 100)
    with pytest.raises(MediaError, match=r"noise\.mp4.* cannot be cut \(.*nvalid"):
        cut_window(source, tmp_path / "out" / "cut.mp4", 0, 1)
    assert not list((tmp_path / "out").iterdir())
    with pytest.raises(ValueError, match="window"):
        cut_window(source, tmp_path / "cut.mp4", 2, 1)

import pytest


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Freeze without figures, where a test is about something else: drawing takes the most time."""
    monkeypatch.setattr("psychemme.release.figures.draw_figures", lambda *_: {})

"""What an utterance does, by the longest stock phrase in it, and whether an item presupposes more.

A ready-made text of a norm fits only where the norm's trigger occurs; that an option equals such a
text confirms nothing.
"""

from typing import TYPE_CHECKING

from rapidfuzz import fuzz

from psychemme.clients.signal.facts import normal
from psychemme.episode import Episode

if TYPE_CHECKING:
    from psychology_kb.cards import Norm


_PHRASES: dict[str, tuple[str, ...]] = {
    "request": (
        "could you", "can you", "would you", "will you", "please", "i need you to", "could i have",
        "may i have", "may i use", "can i have", "would you mind", "i would like you to",
        "id like you to", "can we", "give me", "bring me", "pass me", "help me", "tell me",
        "here with me", "wait for me", "do you mind", "i need some", "somebody",
        "i need a", "you could",
    ),
    "refusal": (
        "no thank you", "no thanks", "i dont want", "i do not want", "dont touch", "please dont",
        "please stop", "not now", "not yet", "rather not", "leave it", "im not ready", "do not",
        "i dont need", "i wont", "no", "leave me alone", "wont be necessary", "stop",
    ),
    "offer": (
        "shall i", "should i", "may i", "can i help", "would you like some", "do you want me to",
        "let me help", "would you like", "do you need", "should i tell you", "i can help you",
    ),
    "preference": (
        "i prefer", "i like to", "i like my", "i like it when", "i like", "i love", "i hate",
        "i really hate", "i never", "my favourite", "i enjoy", "i always",
    ),
    "distress": (
        "i am worried", "i am so tired", "i am really worried", "very ill", "did not sleep",
        "cant sleep", "i am sad", "i am scared", "i am afraid", "it hurts", "i miss", "i am upset",
        "so tired", "i cant cope",
    ),
    "ongoing_speech": (
        "let me finish my", "let me finish what", "i am not done", "im not done", "i was saying",
        "i am still talking", "dont interrupt", "let me finish the",
    ),
    "invitation": (
        "please take a seat", "take a seat", "have a seat", "come in please", "please come in",
        "help yourself", "feel free", "make yourself at home", "sit wherever you like",
    ),
    "question": (
        "what should i", "what will you", "who is", "where is", "what would you", "when will you",
        "how do you", "why do you", "what can you", "what shall i",
    ),
    "statement": ("no idea", "no problem", "no worries", "no doubt", "no one", "no way"),
}  # fmt: skip
_NEARLY = 92.0
_READY_MADE = 95.0
_RESUMES = 0.9
_EDGE = 0.35


def kind_of(text: str) -> str | None:
    """Return the act of the longest stock phrase in `text`, None where it holds none."""
    plain = f" {normal(text)} "
    found = [
        (len(phrase), act)
        for act, phrases in _PHRASES.items()
        for phrase in phrases
        if f" {phrase} " in plain
        or (len(phrase) > 10 and fuzz.partial_ratio(f" {phrase} ", plain) >= _NEARLY)
    ]
    return max(found)[1] if found else None


def presupposed(text: str, norms: "tuple[Norm, ...]", code: str) -> frozenset[str]:
    """Return the triggers of the norms among whose ready-made texts for `code` `text` is."""
    return frozenset(
        str(norm.trigger)
        for norm in norms
        if code in map(str, norm.applies_to)
        for example in (*norm.fitting, *norm.unfitting)
        if fuzz.ratio(normal(text), normal(example)) >= _READY_MADE
    )


def triggers(text: str, moment: float | None, episode: Episode) -> frozenset[str]:
    """Return what happens with `text`, said before `moment`: by its phrases and by the voices."""
    kind = kind_of(text)
    found = {kind} if kind is not None else set()
    if moment is not None and _is_held(moment, episode):
        found.add("ongoing_speech")
    return frozenset(found)


def _is_held(moment: float, episode: Episode) -> bool:
    """Tell whether the voice before `moment` is the next to speak, after a short gap around it."""
    turns = episode.signals.turns
    before = max((t for t in turns if t.end <= moment), key=lambda t: t.end, default=None)
    after = min((t for t in turns if t.start >= moment), key=lambda t: t.start, default=None)
    if before is None or after is None or before.voice != after.voice:
        return False
    return after.start - before.end <= _RESUMES and moment - before.end <= _EDGE

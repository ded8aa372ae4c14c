"""The proposer's reading of speech acts: frames at fixed places of a sentence."""

import re

_OPENING = r"^(?:(?:oh|well|so|okay|ok|and|but|um|uh|hey|hi|sorry|excuse me|look|actually)[,.]? )*"
_NOT_ASKED = r"(?<!what )(?<!when )(?<!where )(?<!who )(?<!how )(?<!why )"
_FRAMES: dict[str, str] = {
    "refusal": (
        r"^(?:oh |well |um )?no\b(?! (?:problem|worries|one|idea|doubt|way))"
        r"|\bno,? thank"
        r"|\bi(?:d| would) (?:really )?(?:rather|prefer) not"
        r"|\bi (?:really )?(?:dont|do not|wont|will not) (?:really )?(?:want|feel like|need|wish)"
        r"|\b(?:please|just) (?:dont|do not|stop)|^(?:please )?stop\b|^dont\b|^do not\b"
        r"|\bnot (?:now|today|right now|yet|tonight)\b|\bleave (?:me|it) alone"
        r"|\bim not (?:ready|comfortable|in the mood|going to)"
    ),
    "offer": (
        rf"{_NOT_ASKED}\b(?:shall|should|may) i (?!have|borrow|see|use|ask|sit|join)\w+"
        r"|\b(?:can|could) i (?:help|get|bring|make|take|carry|give|fetch|call)\b"
        r"|\bwould you like\b(?! to (?:tell|explain))|\bdo you (?:want|need)\b|\blet me help"
        r"|\bi (?:can|could) (?:help|get|bring|make|take|carry|give|fetch|call)\b"
    ),
    "request": (
        rf"{_OPENING}(?:can|could|would|will) (?:you|we)\b(?! like)"
        rf"|{_NOT_ASKED}\b(?:can|could|would|will) you (?:please )?(?!like|want)\w+"
        r"|\b(?:can|could|may) i (?:please )?(?:have|borrow|see|use|ask|sit|join)\b"
        r"|\bi(?:d| would) like (?:you to|a|some|the|it)\b|\bi need (?:you|a|some|to|the|your)"
        r"|\bplease\b(?! dont| do not)|^(?:give|pass|bring|help|show|tell|hand|send|call|let) me\b"
        r"|\bdo you mind\b|\bwould you mind\b"
    ),
    "distress": (
        r"\bi(?:m| am) (?:so |really |just |very |a bit )?(?:scared|afraid|worried|sad|tired|upset"
        r"|exhausted|lonely|overwhelmed|stressed|anxious|hurt|nervous|ashamed)"
        r"|\bi (?:cant|cannot) (?:do this|take|sleep|cope|breathe|stop)|\bit hurts\b"
        r"|\bi(?:ve| have)? lost\b|\bi miss\b|\bi failed\b"
    ),
    "preference": (
        r"\bi (?:always |really |usually |never |still )?(?:prefer|like|love|enjoy|hate|avoid)\b"
        r"|\bi (?:dont|do not|cant|cannot) (?:really )?(?:like|eat|drink|enjoy|stand)\b"
        r"|\bmy favou?rite\b|\bi(?:d| would) rather\b(?! not)|\bi never (?:eat|drink|take|want)\b"
    ),
}
_PATTERNS = {act: re.compile(frame) for act, frame in _FRAMES.items()}
_KEEP = re.compile(r"[^\w\s,.]")


def acts(text: str) -> tuple[str, ...]:
    """Return the acts whose frames `text` fills; a refusal is never also a request."""
    plain = " ".join(_KEEP.sub("", text.casefold()).split())
    found = [act for act, pattern in _PATTERNS.items() if pattern.search(plain)]
    if "refusal" in found or "offer" in found:
        found = [act for act in found if act not in ("request", "preference")]
    return tuple(found)

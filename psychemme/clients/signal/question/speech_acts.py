"""The proposer's reading of speech acts: frames at fixed places of a sentence."""

import re

_OPENING = (
    r"^(?:(?:oh|well|so|okay|ok|and|but|um|uh|hey|hi|sorry|excuse me|look|actually|just|please"
    r"|yes)[,.]? )*(?:\w+, )?"
)
_NOT_ASKED = r"(?<!what )(?<!when )(?<!where )(?<!who )(?<!how )(?<!why )"
_FRAMES: dict[str, str] = {
    "hold": (
        r"\blet me finish(?: my\b| the (?:story|sentence|point)\b| what\b|[.,]?$)"
        r"|\bi(?:m| am) not (?:done|finished)\b|\bi (?:was|am) still (?:talking|speaking)\b"
        r"|\b(?:dont|do not|stop) interrupt"
    ),
    "invitation": (
        r"\b(?:take|have) (?:a seat|your time|care|fun|a look)\b|\bhelp yourself\b|\bfeel free\b"
        r"|\bmake yourself\b|\bcome (?:on )?in\b|\bbe my guest\b|\bsit wherever\b|\bplease sit down"
    ),
    "refusal": (
        r"^(?:oh |well |um )?no\b(?! (?:problem|worries|one|idea|doubt|way))"
        r"|\bno,? thank"
        r"|\bi(?:d| would) (?:really )?(?:rather|prefer) not"
        r"|\bi (?:really )?(?:dont|do not|wont|will not) (?:really )?(?:want|feel like|need|wish)"
        r"|\b(?:please|just) (?:dont|do not|stop)|^(?:please )?stop\b|^dont\b|^do not\b"
        r"|^not (?:now|today|right now|yet|tonight)\b|\bleave (?:me|it) alone"
        r"|\bim not (?:ready|comfortable|in the mood|going to)"
    ),
    "offer": (
        rf"{_NOT_ASKED}\b(?:shall|should|may) i (?!have|borrow|see|use|ask|sit|join)\w+"
        r"|\b(?:can|could) i (?:help|get|bring|make|take|carry|give|fetch|call)\b"
        r"|\bwould you like\b(?! to (?:tell|explain))|\bdo you (?:want|need)\b|\blet me help"
        r"|\bi (?:can|could) (?:help|get|bring|make|take|carry|give|fetch|call) you\b"
    ),
    "request": (
        rf"{_OPENING}(?:can|could|would|will) (?:you|we)\b(?! like)"
        rf"|{_NOT_ASKED}\b(?:can|could|would|will) you (?:please )?(?!like|want)\w+"
        r"|\b(?:can|could|may) i (?:please )?(?:have|borrow|see|use|ask|sit|join)\b"
        r"|\bi(?:d| would) like (?:you to|a|some|the|it)\b|\bi need (?:you|a|some|the|your)\b"
        r"|\bplease (?!dont|do not)\w+"
        rf"|{_OPENING}(?:give|pass|bring|help|show|tell|hand|send|call) me\b"
        rf"|{_OPENING}(?:sit|stay|wait|come|walk|listen)\b.*\b(?:with|for|to) me\b"
        r"|\bdo you mind\b|\bwould you mind\b"
    ),
    "distress": (
        r"\bi(?:m| am) (?:so |really |just |very |a bit )?(?:scared|afraid|worried|sad|tired|upset"
        r"|exhausted|lonely|overwhelmed|stressed|anxious|hurt|nervous|ashamed)"
        r"|\bi (?:cant|cannot) (?:do this|take|sleep|cope|breathe|stop)|\bit hurts\b"
        r"|\bi(?:ve| have)? lost\b|\bi miss\b|\bi failed\b"
        r"|\bi (?:did not|didnt|could not|couldnt) sleep\b|\bmy \w+(?: \w+)? is (?:very |so )ill\b"
    ),
    "preference": (
        r"\bi (?:always |really |usually |never |still )?(?:prefer|like|love|enjoy|hate|avoid)\b"
        r"|\bi (?:dont|do not|cant|cannot) (?:really )?(?:like|eat|drink|enjoy|stand)\b"
        r"|\bmy favou?rite\b|\bi(?:d| would) rather\b(?! not)|\bi never (?:eat|drink|take|want)\b"
    ),
}
_PATTERNS = {act: re.compile(frame) for act, frame in _FRAMES.items()}
_KEEP = re.compile(r"[^\w\s,.]")
_OUTRANKED = {
    "hold": {"request", "preference", "invitation"},
    "invitation": {"request"},
    "refusal": {"request", "preference"},
    "offer": {"request", "preference"},
    "preference": {"request"},
}


def acts(text: str) -> tuple[str, ...]:
    """Return the acts whose frames `text` fills, without those that another one outranks.

    A refusal, an offer or an invitation is never also a request, however polite its words.
    """
    plain = " ".join(_KEEP.sub("", text.casefold()).split())
    found = [act for act, pattern in _PATTERNS.items() if pattern.search(plain)]
    outranked = {rival for act in found for rival in _OUTRANKED.get(act, ())}
    return tuple(act for act in found if act not in outranked)

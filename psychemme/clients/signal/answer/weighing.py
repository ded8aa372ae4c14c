"""The answerer's reading of speech acts: a bag of weighted cues, with position and punctuation."""

from psychemme.clients.signal.facts import tokens

_WEIGHTS: dict[str, dict[str, float]] = {
    "refusal": {
        "no": 0.8, "not": 0.5, "dont": 0.7, "wont": 0.7, "cant": 0.3, "stop": 0.8, "never": 0.3,
        "rather": 0.5, "thanks": 0.2, "thank": 0.2, "want": 0.3, "alone": 0.5, "leave": 0.4,
        "ready": 0.2, "comfortable": 0.4, "later": 0.2, "now": 0.1, "please": 0.2, "need": 0.1,
        "refuse": 1.0, "decline": 1.0, "pass": 0.2, "already": 0.2, "sorry": 0.1, "touch": 0.3,
        "yet": 0.4, "advice": 0.1, "any": 0.2, "i": 0.1,
    },
    "request": {
        "could": 0.6, "would": 0.4, "can": 0.4, "will": 0.3, "may": 0.3, "you": 0.25, "please": 0.8,
        "need": 0.7, "want": 0.4, "give": 0.5, "bring": 0.4, "pass": 0.4, "help": 0.5, "tell": 0.3,
        "show": 0.3, "me": 0.3, "mind": 0.4, "borrow": 0.5, "open": 0.2, "close": 0.2, "wait": 0.1,
        "somebody": 0.3, "nice": 0.3, "someone": 0.2,
        "hand": 0.3, "like": 0.2, "let": 0.2, "lend": 0.5, "turn": 0.2, "take": 0.1, "get": 0.2,
        "sit": 0.3, "with": 0.2, "just": 0.2, "fetch": 0.5, "sign": 0.2, "stop": 0.1,
        "seat": -0.6, "welcome": -0.4, "yourself": -0.4, "before": -0.3, "people": -0.3,
        "asked": -0.4, "what": -0.4, "who": -0.4, "prefer": -0.5,
    },
    "offer": {
        "would": 0.4, "like": 0.4, "shall": 0.8, "can": 0.3, "could": 0.2, "i": 0.3, "help": 0.3,
        "want": 0.4, "need": 0.1, "you": 0.3, "let": 0.5, "some": 0.1, "do": 0.1, "get": 0.2,
        "bring": 0.3, "make": 0.2, "carry": 0.3, "should": 0.6, "may": 0.5, "push": 0.2,
        "change": 0.1, "will": 0.2,
        "what": -0.5, "when": -0.3, "who": -0.5, "how": -0.4, "where": -0.4, "me": -0.3,
        "wait": -0.3,
    },
    "distress": {
        "scared": 1.0, "afraid": 1.0, "worried": 0.9, "sad": 0.9, "tired": 0.8, "hurts": 1.0,
        "exhausted": 1.0, "alone": 0.4, "lonely": 1.0, "cry": 0.9, "crying": 1.0, "lost": 0.5,
        "miss": 0.5, "terrible": 0.7, "awful": 0.8, "anxious": 1.0, "nervous": 0.9, "failed": 0.8,
        "overwhelmed": 1.0, "upset": 0.9, "cant": 0.3, "hard": 0.3, "im": 0.1, "died": 0.9,
        "stressed": 0.9, "ill": 0.7, "sick": 0.6, "sleep": 0.4, "not": 0.1, "very": 0.1,
    },
    "preference": {
        "like": 0.5, "prefer": 1.0, "love": 0.8, "favourite": 1.0, "favorite": 1.0, "enjoy": 0.8,
        "hate": 0.8, "always": 0.4, "never": 0.5, "usually": 0.4, "rather": 0.6, "dont": 0.2,
        "i": 0.2, "my": 0.1, "drink": 0.2, "eat": 0.2, "avoid": 0.7, "stand": 0.3, "cant": 0.2,
    },
    "hold": {
        "finish": 0.7, "done": 0.4, "wait": 0.4, "let": 0.2, "me": 0.1, "story": 0.3, "point": 0.2,
        "sentence": 0.3, "saying": 0.4, "interrupt": 0.8, "still": 0.2, "speaking": 0.5,
        "talking": 0.5, "finished": 0.6,
    },
}  # fmt: skip
_EARLY = 3
_ASKING = {"request": 0.35, "offer": 0.4}
SUPPORTED = 0.85


def weigh(text: str, act: str) -> float:
    """Return how strongly the words of `text` speak for `act`; `SUPPORTED` and more is a yes.

    Each cue word counts once, a quarter more among the first three words; long sentences dilute.
    """
    weights = _WEIGHTS[act]
    said = tokens(text)
    total = 0.0
    for word in dict.fromkeys(said):
        early = 1.25 if word in said[:_EARLY] else 1.0
        total += weights.get(word, 0.0) * early
    if text.rstrip(" \"'”’)").endswith("?"):
        total += _ASKING.get(act, -0.3)
    return total / max(1.0, len(said) / 12)

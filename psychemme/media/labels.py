"""Take speaker names out of subtitle lines: transcripts carry times and words, never names."""

import html
import re

_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<[\d:.]+>")
_WORD = r"[^\W\d_a-z][\w.'’\-]*"
_LABEL = rf"(?:{_WORD}|\d+|&|and|of|the|de|van|von|da|\([^()]*\)|\[[^\[\]]*\])"
_COLON = re.compile(rf"(?:>>+\s*)?{_WORD}(?:[ _]{_LABEL}){{0,4}}\s*[:：](?=\s|$)\s*")
_MACHINE = re.compile(
    r"[\[(]?\s*(?:speaker|spk|voice|person)[ _-]?\d{1,3}\s*(?:[\])]\s*[:：]?|[:：])(?:\s+|$)", re.I
)
_BRACKET = re.compile(
    rf"(?:>>+\s*)?[\[(]\s*({_WORD}(?:[ _]{_LABEL}){{0,3}})\s*[\])]\s*[:：]?(?:\s+|$)"
)
_BRACKET_COLON = re.compile(r"(?:>>+\s*)?[\[(][^\[\]()]{1,40}[\])]\s*[:：](?:\s+|$)")
_SOUND = re.compile(
    r"laugh|chuckl|giggl|sigh|music|appla|clap|cheer|cough|cry|crie|sob|gasp|groan|scream|shout"
    r"|whisper|silen|inaud|crosstalk|nois|door|phone|bell|sing|foreign|indistinct|unintel|paus"
    r"|breath|sniff|mumbl|yell|blank",
    re.I,
)
_MARK = re.compile(r"(?:[-–—•]|>>+)\s*")


def clean_line(line: str) -> str:
    """Return one subtitle line as spoken text: no markup, dialogue dash or speaker label.

    A capitalised name before a colon counts as a label, and so does a capitalised name in brackets
    unless it tells a sound (`[Laughs]`). An opening such as `Listen:` is taken for a label too:
    losing that word is better than showing a name.
    """
    text = html.unescape(_TAG.sub("", line))
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    text = _MARK.sub("", text, count=1) if _MARK.match(text) else text
    for pattern in (_MACHINE, _COLON, _BRACKET_COLON):
        if found := pattern.match(text):
            return text[found.end() :]
    found = _BRACKET.match(text)
    return text[found.end() :] if found and not _SOUND.search(found[1]) else text


def clean_text(text: str) -> str:
    """Return the lines of `text`, cleaned and joined by single spaces."""
    return " ".join(filter(None, (clean_line(line) for line in text.splitlines())))

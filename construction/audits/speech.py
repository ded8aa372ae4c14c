"""Profanity and personal data in what an item says: question, options, answer, points, cues.

Patterns are narrow: each wants the shape of the thing and refuses what only looks like it. Names of
people are not looked for; fiction and role play have them, and lists of names miss most.
"""

import re
from collections.abc import Iterator

from construction.audits.results import each
from construction.audits.values import AuditItem, AuditSettings
from construction.audits.wording import word_list, words

_PROFANE = word_list("profane")
_EMAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b")
_PHONE = re.compile(
    r"(?<![\w.:/-])(?:\+\d{1,3}[ .-]?(?:\(0?\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){2,4}"
    r"|\(\d{3,5}\)[ .-]?\d{3,4}[ .-]?\d{3,4}|0\d{2,4}[ -]\d{3,4}[ -]?\d{3,4}"
    r"|\d{3}[ .-]\d{3}[ .-]\d{4})(?![\w:/-]|\.\d)"
)
# Digits alone are a number to call only where the text says so.
_CALLED = re.compile(
    r"\b(?:call|phone|telephone|tel|dial|ring|text|number)\b\D{0,15}\d(?:[ .-]?\d){6,14}\b",
    re.IGNORECASE,
)
_STREET = re.compile(
    r"\b\d{1,5}[A-Za-z]?,?\s+(?:[NSEW]\.?\s+)?(?:[A-Z][\w'’.-]*\s+){1,3}"
    r"(?:(?:Street|St\.|Avenue|Ave|Road|Rd|Lane|Ln|Boulevard|Blvd|Terrace)(?!\w)"
    r"|(?:Drive|Court|Place|Square|Way|Close|Crescent)(?=\s*(?:[,.;?!]|$)))"
    r"|\b[A-Z]\w*(?:straße|strasse|weg|gasse|platz|allee)\s+\d{1,4}[a-z]?\b"
    r"|\b(?:via|viale|calle)\s+(?:d\w*\s+|la\s+)*[A-Z][\w'’]+,?\s+\d{1,4}\b"
    r"|\b\d{1,4},?\s+(?:rue|avenue|boulevard)\s+(?:d\w*\s+|la\s+|l['’])*[A-Z]\w+"
)
_CARD = re.compile(r"(?<!\d)(?:\d[ -]?){13,19}(?!\d)")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,4})?\b")
_SSN = re.compile(r"(?<![\w-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")
_HANDLE = re.compile(r"(?<![\w@.])@(?=\w*[\d_.])[A-Za-z_][A-Za-z0-9_.]{2,29}\b")
_SHAPES = (
    ("a social security number", _SSN),
    ("a phone number", _PHONE),
    ("a phone number", _CALLED),
    ("a street address", _STREET),
)


def profanity(item: AuditItem, _: AuditSettings) -> str | None:
    """Say which profane word stands where."""
    for where, text in _texts(item):
        if found := next((word for word in words(text) if word in _PROFANE), None):
            return f"{found!r} in {where}"
    return None


def personal_data(item: AuditItem, _: AuditSettings) -> str | None:
    """Say which kind of personal data stands where; what it is, is not repeated."""
    for where, text in _texts(item):
        if kind := kind_of_data(text):
            return f"{kind} in {where}"
    return None


def kind_of_data(text: str) -> str | None:
    """Return which personal data a text holds, if any."""
    if _EMAIL.search(text):
        return "an e-mail address"
    if _HANDLE.search(text):
        return "an account name"
    if not any(sign.isdigit() for sign in text):
        return None
    if any(map(_is_card, _CARD.findall(text))):
        return "a card number"
    if any(map(_is_iban, _IBAN.findall(text))):
        return "a bank account"
    for kind, pattern in _SHAPES:
        if pattern.search(text):
            return kind
    return None


def _texts(item: AuditItem) -> Iterator[tuple[str, str]]:
    yield "the question", item.question
    for option in item.options:
        yield f"option {option.id}", option.text
    if isinstance(item.answer, str) and not item.format.is_choice:
        yield "the answer", item.answer
    for number, point in enumerate(item.key_points, 1):
        yield f"key point {number}", point.text
    for number, cue in enumerate(item.cues, 1):
        yield f"cue {number}", cue.description


def _is_card(text: str) -> bool:
    """Whether the digits pass Luhn's check."""
    digits = [int(sign) for sign in text if sign.isdigit()][::-1]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return len(set(digits)) > 1 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _is_iban(text: str) -> bool:
    """Whether the check digits are right (ISO 13616)."""
    plain = text.replace(" ", "")
    return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1


SPEECH_AUDITS = (
    each("profanity", "Profanity in texts", profanity),
    each("personal_data", "Personal data in texts", personal_data),
)

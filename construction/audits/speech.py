"""Profanity and personal data in what an item says: question, options, answer, points, cues.

Patterns are narrow: each wants the shape of the thing and refuses what only looks like it. Names of
people are not looked for; fiction and role play have them, and lists of names miss most.
"""

import re
from collections.abc import Iterator
from itertools import accumulate

from construction.audits.results import each
from construction.audits.values import AuditItem, AuditSettings
from construction.audits.wording import cased_words, plain_text, word_list, word_lists

_PROFANE, _NAMES = word_list("profane"), word_list("names")
_INNOCENT = word_lists("innocent")
# The Cyrillic letter that is taken for y, and for u.
_DOUBLE = str.maketrans("\u0443\u0423", "uU")
_EMAIL = re.compile(r"[\w.%+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}\b")
_PHONE = re.compile(
    # Not a number in thousands.
    r"(?<![\w.:/-])(?!\+\d{1,3}(?: \d{3}){1,2}(?![ .-]?\d))"
    r"(?:(?:\+|00(?=[1-9]))\d{1,3}[ .-]?(?:\(0?\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){2,4}"
    r"|(?<!\d )(?:(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ ./-])\d{3}[ .-]\d{4}"
    r"|\(\d{3,5}\)[ .-]?\d{3,4}[ .-]?\d{3,4}|0\d{2,4}[ -]\d{3,4}[ -]?\d{3,4}"
    r"|0\d(?:[ .-]\d\d){4})(?! \d))(?![\w:/-]|\.\d)"
)
# Digits alone are a number to call only where the text says so, and where no thousands, decimals,
# date, years or hours are written, nor anything that is counted follows.
_CALLED = re.compile(
    r"\b(?:call|(?:cell|mobile|tele)?phone|tel|dial|ring|text|cell|mobile|whats ?app"
    r"|reach (?:me|her|him|them|us)|(?:my|your|his|her|our|their|'s) number"
    r"|number(?= ?(?:is|was|:)))\b\D{0,15}(?<!\d)"
    r"(?!\d{1,2}(?:[ .]\d{3})+(?![ .-]?\d)|\d{3}(?:[ .]000)+(?!\d)|\d{1,2}\.\d{5}|\d{5,}\.\d"
    r"|\d{4}-\d\d-\d\d|\d\d?[-.]\d\d?[-. ](?:19|20)\d\d|(?:1\d|20)\d\d-(?:1\d|20)\d\d(?!\d)"
    r"|\d\d?\.\d\d-\d)\d(?:[ .-]?\d){6,14}"
    r"(?=\s*(?:$|[-.,;:!?)\]\"'”’](?!\s?\d))|\s+(?:a[st]|again|and|asap|after|by|before|but|"
    r"for|from|if|i[ns]|later|now|on|or|please|she|he|so|soon|the[ny]?|to|today|tomorrow|tonight|"
    r"until|was|when|with)\b)",
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
_CARD = re.compile(r"(?<!\d)[1-9](?:\d{3}(?:\.\d{4}){3}|(?:[ -]?\d){12,18})(?!\d)")
_IBAN = re.compile(
    r"\b[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){3,7}(?:[ -]?[A-Z0-9]{1,4})?\b", re.IGNORECASE
)
_FEWEST_DIGITS = 10
_SSN = re.compile(r"(?<![\w-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")
_HANDLE = re.compile(r"(?<![\w@.])@(?=\w*[\d_.])[A-Za-z_][A-Za-z0-9_.]{2,29}\b")
_SHAPES = (
    ("a social security number", _SSN),
    ("a phone number", _PHONE),
    ("a phone number", _CALLED),
)


def profanity(item: AuditItem, _: AuditSettings) -> str | None:
    """Say which profane word stands where."""
    for where, text in _texts(item):
        if found := _profane_word(text):
            return f"{found!r} in {where}"
    return None


def personal_data(item: AuditItem, _: AuditSettings) -> str | None:
    """Say which kind of personal data stands where; what it is, is not repeated."""
    for where, text in _texts(item):
        if kind := kind_of_data(text):
            return f"{kind} in {where}"
    return None


def street_address(item: AuditItem, _: AuditSettings) -> str | None:
    """Say where a street with a number stands; it may be a person's, or a place all know."""
    places = (where for where, text in _texts(item) if _STREET.search(plain_text(text)))
    return next((f"a street address in {where}" for where in places), None)


def kind_of_data(text: str) -> str | None:
    """Return which personal data a text holds, if any."""
    text = plain_text(text).replace("\u3002", ".")
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


def _profane_word(text: str) -> str | None:
    """Return the first profane word of a text that is neither a name nor innocent where it is."""
    for spelled in dict.fromkeys((text, text.translate(_DOUBLE))):
        written = [word.removesuffix("'s") for word in cased_words(plain_text(spelled))]
        said = [word.casefold() for word in written]
        for cased, word in zip(written, said, strict=True):
            if word not in _PROFANE or (word in _NAMES and cased.istitle()):
                continue
            if _INNOCENT.get(word, frozenset()).isdisjoint(said):
                return word
    return None


def _is_card(text: str) -> bool:
    """Whether the digits pass Luhn's check."""
    digits = [int(sign) for sign in text if sign.isdigit()][::-1]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return len(set(digits)) > 1 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _is_iban(text: str) -> bool:
    """Whether the check digits are right (ISO 13616), of all groups or of the first of them."""
    for plain in map("".join, accumulate([[one] for one in re.split("[ -]", text)])):
        digits = "".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])
        if sum(map(str.isdigit, plain)) >= _FEWEST_DIGITS and int(digits) % 97 == 1:
            return True
    return False


SPEECH_AUDITS = (
    each("profanity", "Profanity in texts", profanity),
    each("personal_data", "Personal data in texts", personal_data),
    each("street_address", "Street addresses in texts", street_address),
)

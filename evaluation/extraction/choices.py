"""Which options a short text names: an answer field, or what an answer statement states.

A text names options by id, by the exact words of an option, or by both together. Anything else
raises Unreadable; nothing is matched inside a longer word or text.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from evaluation.extraction.failures import Failure, Unreadable
from evaluation.extraction.text import normal, plain
from psychemme.items import Option
from psychemme.vocabulary import Format

_LONGEST_LIST = 400
_LONGEST_TEXT = 5_000

Ids = frozenset[str]
"""A set of option ids."""

_LEAD = re.compile(
    r"[\s$]{0,4}\\boxed\s?(?=\{)"
    r"|\W{0,8}(?:(?:the|my|final|correct|best)\s){0,3}(?:answers?|options?|choices?|正确答案|答案|选项|选)"
    r"(?:\s?(?:is\b|are\b|[是为:]))?(?=[\W\dA-Z是为]|$)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"[\s,;、*_`$\"'“”\[\](){}<>.。:&和与及]+|\b(?:and|options?)\b|选项", re.IGNORECASE
)
_EITHER = re.compile(r"/|\||\b(?:either|or)\b|或", re.IGNORECASE)
_ONE_OR_OTHER = re.compile(
    r"(?<![A-Za-z])[A-Z]\W{0,3}(?:/|\||\bor\b|或)\W{0,3}(?:option\s)?[A-Z](?![A-Za-z])"
)
_LABEL = re.compile(r"[\s*_`\"'“$({\[]{0,8}([A-Za-z])(?![A-Za-z])([\s*_`\"'”$)}\].:、,–—-]{0,8})")
_LABELS = re.compile(r"(?:^|(?<=[\s(\[*,;]))([A-Z])[*_]{0,2}[.):、](?![A-Za-z]\b)")
_CONTRAST = re.compile(
    r"\b(?:not|rather|other|others|unlike|instead|while|whereas|because|since|as|but|incorrect"
    r"|wrong|over)\b|[.!?。;]\s",
    re.IGNORECASE,
)
_SENTENCE_ENDS = re.compile(r"[.!。](?=\s|$)|[*_]{2}(?=[\s.]|$)")
_JOINT = re.compile(r"[\s*_,;]+$|\band\s*$|\bor\s*$|[和与及]\s*$")
# What may follow a bare letter that is an answer and no article, pronoun or initial.
_STANDS_ALONE = re.compile(
    r"(?:[*_`$\"”}\]):;]|(?<!I),|\.(?!\w)|'(?!\w)|\s?(?:$|\n|[<(–—]|-\s))(?!\s?\?)"
    r"|\s(?:is(?!\s(?:not|incorrect|wrong|false|unlikely)\b)|because|since|as|due|based|for|which)\b"
    r"|。"
)
_LIST = re.compile(
    r"[\s*_`\"'“$({\[:]{0,12}(?:option\s|选项)?[\s*_`\"'“$({\[:]{0,6}([A-Za-z])(?![A-Za-z])"
)
_AND = ("and", "&", "和", "与", "及")
_ALSO = re.compile(
    r"[*_`\"'”$)}\]]{0,4}\s?(?:,\s?and\b|,|、|&|\band\b|[和与及])\s?"
    r"[*_`\"'“$({\[]{0,4}(?:option\s)?([A-Z])(?![A-Za-z])",
    re.IGNORECASE,
)


class Choices:
    """The options of one question, ready to be recognised."""

    def __init__(self, form: Format, options: Sequence[Option]) -> None:
        self.form = form
        self.ids: Ids = frozenset(option.id for option in options)
        self._texts = _texts(options)
        self._named: dict[str, set[str]] = defaultdict(set)
        for option_id, text in self._texts.items():
            self._named[text].add(option_id)

    def whole(self, text: str) -> Ids:
        """Return the options that all of `text` names; raises Unreadable."""
        shown = plain(text[:_LONGEST_TEXT]).strip()
        found = self._by_letters(shown) or self._by_text(shown)
        if found is None and (lead := _LEAD.match(shown)):
            shown = shown[lead.end() :]
            found = self._by_letters(shown) or self._by_text(shown)
        if found is None:
            found = self._by_label(shown)
        if found is None:
            raise Unreadable(Failure.UNKNOWN_OPTION)
        return found

    def named(self, text: str) -> Ids:
        """Return the options that `text` names: all of it, its first sentence, or its beginning.

        Raises Unreadable: `no_answer` where it names nothing that could be an option.
        """
        text = text.strip().lstrip("-• :")
        sentence = text[: end.start()] if (end := _SENTENCE_ENDS.search(text, 3)) else text
        for part in dict.fromkeys((text, sentence)):
            try:
                return self.whole(part)
            except Unreadable as unreadable:
                if unreadable.failure is Failure.AMBIGUOUS:
                    raise
        return self.leading(text)

    def leading(self, text: str) -> Ids:
        """Return the options that `text` begins with, before it goes on.

        Raises Unreadable: `no_answer` where it begins with no letter that stands for an option.
        """
        if _ONE_OR_OTHER.search(text[:40]):
            raise Unreadable(Failure.AMBIGUOUS)
        first = _LIST.match(text)
        if first is None or not (first[1].isupper() or _is_marked(text, first)):
            raise Unreadable(Failure.NO_ANSWER)
        letters, end = [first[1]], first.end()
        stands = bool(_STANDS_ALONE.match(text, end))
        while (more := _ALSO.match(text, end)) and _ends(text, more.end()):
            letters.append(more[1])
            end, stands = more.end(), True
        if more and more[0].lstrip("*_ ").startswith(_AND):
            raise Unreadable(Failure.AMBIGUOUS)
        if not (stands or text[end : end + 5] == " and "):
            raise Unreadable(Failure.NO_ANSWER)
        return self._known(letters)

    def line(self, text: str) -> Ids | None:
        """Return the options of a line that holds nothing else: ids, or an id and its own text."""
        shown = text.strip(" *-•>#")
        if not (_EITHER.search(shown) or "?" in shown) and (found := self._by_letters(shown)):
            return found
        label = _LABEL.match(shown)
        if label and label[2] and normal(shown[label.end() :]) == self._texts.get(label[1]):
            return frozenset(label[1])
        return None

    def _by_letters(self, text: str) -> Ids | None:
        if len(text) > _LONGEST_LIST:
            return None
        words = [word for word in _BETWEEN.split(_EITHER.sub(" ", text)) if word]
        letters = frozenset(word.upper() for word in words)
        if words and letters <= self.ids:
            if len(letters) > 1 and _EITHER.search(text):
                raise Unreadable(Failure.AMBIGUOUS)
            return letters
        run = words[0] if len(words) == 1 and self.form is Format.MULTIPLE else ""
        if 1 < len(run) == len(set(run)) and set(run) <= self.ids and not self._texts_of(run):
            return frozenset(run)
        return None

    def _texts_of(self, text: str) -> set[str]:
        return self._named.get(normal(text), set())

    def _by_text(self, text: str) -> Ids | None:
        if len(named := self._texts_of(text)) > 1:
            raise Unreadable(Failure.AMBIGUOUS)
        return frozenset(named) or None

    def _by_label(self, text: str) -> Ids | None:
        label = _LABEL.match(text)
        if label is None or not label[2]:
            return None
        rest, own = text[label.end() :], self._texts.get(label[1].upper())
        said = {normal(rest), normal(rest.rstrip(" *_.").removesuffix(")"))}
        if own in said:
            return frozenset(label[1].upper())
        if any(self._texts_of(words) for words in said):
            raise Unreadable(Failure.AMBIGUOUS)
        if not re.search(r"[.):、]", label[2]):
            return None
        return self._labelled(text, label)

    def _labelled(self, text: str, first: re.Match[str]) -> Ids:
        """Return the options of a text that labels one of them, or several with their own text."""
        labels = [label for label in _LABELS.finditer(text) if label[1] != first[1].upper()]
        if not labels or _CONTRAST.search(text, first.end(), labels[0].start()):
            return self._known([first[1]])
        if self._starts_with_all(text, {first[1].upper(), *(label[1] for label in labels)}):
            return self.leading(text)
        marks = [(first[1].upper(), first.end()), *((label[1], label.end()) for label in labels)]
        ends = [*(label.start() for label in labels), len(text)]
        spans = [(name, text[start:end]) for (name, start), end in zip(marks, ends, strict=True)]
        chosen = frozenset(name for name, _ in spans)
        if chosen < self.ids and all(self._is_own(name, words) for name, words in spans):
            return chosen
        raise Unreadable(Failure.AMBIGUOUS)

    def _starts_with_all(self, text: str, letters: set[str]) -> bool:
        try:
            return self.leading(text) == letters
        except Unreadable:
            return False

    def _is_own(self, option_id: str, words: str) -> bool:
        words = words.rstrip(" (*[")
        return normal(_JOINT.sub("", _JOINT.sub("", words))) == self._texts.get(option_id)

    def _known(self, letters: Iterable[str]) -> Ids:
        chosen = frozenset(letter.upper() for letter in letters)
        if not chosen <= self.ids:
            raise Unreadable(Failure.UNKNOWN_OPTION)
        return chosen


def _texts(options: Sequence[Option]) -> dict[str, str]:
    """Return each option's text in normal form, without an id that all of them repeat."""
    labels = [re.match(rf"\(?{option.id}[.):]\s+", option.text) for option in options]
    if all(labels):
        return {
            option.id: normal(option.text[label.end() :])
            for option, label in zip(options, labels, strict=True)
            if label
        }
    return {option.id: normal(option.text) for option in options}


def _is_marked(text: str, letter: re.Match[str]) -> bool:
    """Return whether a small letter is set off as an id: `(b)`, `b)`, `b.` or alone on its line."""
    return bool(
        re.match(r"[*_`\"'$]{0,3}(?:[)}\]]|\.(?!\w)|\s*(?:$|\n))", text[letter.end() :][:8])
    )


def _ends(text: str, position: int) -> bool:
    return bool(_STANDS_ALONE.match(text, position) or _ALSO.match(text, position))

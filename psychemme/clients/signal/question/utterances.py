"""The proposer's reading of turns: which lines are whole, and where a turn is held."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from psychemme.clients.signal.facts import Line, ends_sentence, sentences, tokens, words
from psychemme.episode import Episode, Interval, Word

_GOES_ON = 0.6
_HESITATION = (0.25, 0.9)
_FEWEST_WORDS = 3
_EDGE = 0.05
_CONTINUES = frozenset({"and", "but", "or", "nor", "not", "because", "than"})
_STOPS = re.compile(r"[.,;:!?…]$")


def voice_of(line: Line, episode: Episode) -> int | None:
    """Return the voice with the largest share of `line`."""
    shares: dict[int, float] = {}
    for turn in episode.signals.turns:
        share = min(turn.end, line.end) - max(turn.start, line.start)
        if share > 0:
            shares[turn.voice] = shares.get(turn.voice, 0.0) + share
    return max(shares, key=lambda voice: shares[voice], default=None)


def fragments(spoken: Sequence[Line], episode: Episode) -> frozenset[Line]:
    """Return the lines that one voice broke off and went on with at once, and how it went on."""
    found: set[Line] = set()
    for here, there in pairwise(spoken):
        if there.start - here.end > _GOES_ON or voice_of(here, episode) != voice_of(there, episode):
            continue
        if not ends_sentence(here.text) or _CONTINUES & set(tokens(there.text)[:1]):
            found |= {here, there}
    return frozenset(found)


def held(episode: Episode) -> Iterator[tuple[Line, Interval]]:
    """Yield (the words up to it, the pause) where a voice hesitates in mid-clause and goes on."""
    for utterance in episode.transcript:
        if utterance.flags or not utterance.words:
            continue
        for sentence in sentences(words(utterance)):
            for pause in episode.signals.pauses:
                before = _before(sentence, pause)
                if before and _one_voice(pause, episode):
                    text = " ".join(word.text.strip() for word in before)
                    end = min(before[-1].end, pause.start)
                    yield Line(before[0].start, end, text), pause


def _before(sentence: Sequence[Word], pause: Interval) -> Sequence[Word]:
    """Return the words of `sentence` up to `pause`, none where it does not break a clause."""
    shortest, longest = _HESITATION
    if not shortest <= pause.end - pause.start <= longest:
        return ()
    before = [word for word in sentence if word.end <= pause.end - _EDGE]
    after = sentence[len(before) :]
    if len(before) < _FEWEST_WORDS or not after or after[0].end <= pause.end:
        return ()
    is_near = abs(before[-1].end - pause.start) <= 2 * _HESITATION[0]
    return before if is_near and not _STOPS.search(before[-1].text.strip()) else ()


def _one_voice(pause: Interval, episode: Episode) -> bool:
    turns = episode.signals.turns
    before = {turn.voice for turn in turns if abs(turn.end - pause.start) <= _EDGE}
    after = {turn.voice for turn in turns if abs(turn.start - pause.end) <= _EDGE}
    return len(before) == 1 and before == after

"""How long the sentences of a text are, and which of its words are not to be used."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

LONGEST = 25
"""Words that a sentence may have."""
AVERAGE = 14
"""Words that the sentences of one kind of text may have on average."""
_SHORTEST = 4
"""What has fewer words is a label, a heading or a button: no sentence, and it would flatter the average."""

_FORBIDDEN = {
    r"guests?": "other job",
    r"kin": "related job",
    r"losers?": "owner of the lost commits",
    r"siblings?": "other tables of the job",
    r"deeds?": "applied effects",
    r"owed": "pending, due",
    r"mend(?:s|ed|ing)?": "fix, repair",
    r"told": "is notified, said, known",
    r"inert": "sanitized",
    r"sequels?": "outcome",
    r"(?:carr(?:y|ies|ied|ying)) out|carr(?:y|ies|ied|ying) (?:it|them|this|that) out": "run, do",
    r"(?:stands?|stood|standing) still": "is stopped",
    r"off (?:the )?main": "removes from main",
    r"no (?:next )?word|next word|the word that": "no update, next update",
    r"what stands|where it stands|as it stands|how it stands|matter of": "say it plainly",
    r"put(?:s|ting)? (?:\w+ )?back": "restore, re-apply",
    r"(?:come|comes|came|coming) again": "repeats, is committed again",
    r"rehears(?:e|es|ed|al|als|ing)": "on a branch, write-audit-publish",
    r"glass": "emergency approval",
    r"thaw(?:s|ed|ing)?": "unfreeze",
    r"couriers?": "dispatcher",
    r"parcels?": "delivery",
    r"desks?": "service",
    r"walk(?:s|ed|ing|er)?": "runbook, step, run",
}
INSTEAD = {word: re.compile(rf"(?<![\w`/-])(?:{word})(?![\w`/-])", re.IGNORECASE) for word in _FORBIDDEN}

_ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|approx)\.")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_ADDRESS = re.compile(r"<?\b[a-z+]+://[^\s>)]+>?|\S+@\S+\.\S+")
_END = re.compile(r"(?<=[.!?:…])[\s\"”)*_]+|\n|\s\|\s|\s[·—–]\s")
_WORD = re.compile(r"[^\W\d_][^\W\d_'’]*(?:-[^\W\d_]+)*")


@dataclass(frozen=True)
class Text:
    """What somebody reads, and where it is written: `bot/slack/commands.py:12`."""

    place: str
    words: str


@dataclass
class Measured:
    """One kind of text."""

    sentences: int = 0
    words: int = 0
    too_long: list[tuple[int, str, str]] = field(default_factory=list)
    """(words, place, sentence), the longest first."""
    forbidden: list[tuple[str, str, str]] = field(default_factory=list)
    """(what stands there, place, what to write instead)."""

    @property
    def average(self) -> float:
        """Words a sentence, to one digit."""
        return round(self.words / self.sentences, 1) if self.sentences else 0.0


def sentences(text: str) -> Iterator[tuple[str, int]]:
    """(sentence, its words) of at least four words. Code, addresses and ids do not count; a line, a cell ends one."""
    prose = _ADDRESS.sub("", _CODE.sub("", text))
    for sentence in _END.split(_ABBREVIATIONS.sub(r"\1", prose)):
        count = sum(1 for token in sentence.split() if _is_word(token))
        if count >= _SHORTEST:
            yield " ".join(sentence.split()), count


def _is_word(token: str) -> bool:
    """`orders`, `re-read,` and `(yes)`, but not `7421`, `run_id`, `job=a3f` or `bot/slack`."""
    return bool(_WORD.fullmatch(token.strip("\"'“”‘’()[]{}<>*_.,;:!?…/")))


def measure(texts: Iterable[Text]) -> Measured:
    """All of one kind together."""
    result = Measured()
    for text in texts:
        for sentence, count in sentences(text.words):
            result.sentences += 1
            result.words += count
            if count > LONGEST:
                result.too_long.append((count, text.place, sentence))
        prose = _ADDRESS.sub("", _CODE.sub("", text.words))
        for word, pattern in INSTEAD.items():
            result.forbidden += [(hit.group(), text.place, _FORBIDDEN[word]) for hit in pattern.finditer(prose)]
    result.too_long.sort(key=lambda each: (-each[0], each[1]))
    result.forbidden.sort(key=lambda each: (each[1], each[0]))
    return result


def joined(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """(first line, paragraph, list item, heading or row) of Markdown: a sentence may go over several of its lines."""
    begun, held = 0, ""
    for number, line in lines:
        text = line.strip()
        begins = not text or re.match(r"([-*+>#|]|\d+\.)(\s|$)|\|", text) is not None
        if held and (begins or held.endswith((".", "!", "?", ":", "|"))):
            yield begun, held
            held = ""
        if text:
            begun, held = (begun, f"{held} {text}") if held else (number, re.sub(r"^(?:[-*+>#]+|\d+\.)\s+", "", text))
    if held:
        yield begun, held

"""Secrets, kept out of everything that is written or sent: journal, messages, logs, saved cases.

Those that this process knows are replaced wherever they stand, and so is whatever has the shape of one: an error of a
library may quote an address with its password, and a person may paste a token into a note.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Iterable
from typing import NamedTuple
from urllib.parse import quote

from bot.observation.flink import CompletedCheckpoint, Failure, JobRun

MASK = "•••"
_SHORTEST = 6
"""A shorter secret is found in ordinary words, and masking those would tell it."""
_LIKE_OURS = re.compile("[\u0130\u0131\u017f\u212a]")
"""Letters of other alphabets that count as i, s or k where case does not matter: cues would not see them."""


class _Shape(NamedTuple):
    """What a secret looks like, and what stands instead."""

    cue: re.Pattern[str]
    """Found in the small letters of a text wherever the pattern is found in it; many times as fast."""
    pattern: re.Pattern[str]
    instead: str | Callable[[re.Match[str]], str] = MASK


_NAMED = (
    r"(?:password|passwd|secret(?:[._-]?access)?[._-]?key|client[._-]?secret|access[._-]?token"
    r"|session[._-]?token|api[._-]?key|account[._-]?key|sig|[?&]signature"
    r"|x-(?:amz|goog)-(?:signature|security-token|credential))[\"']?\s*[=:]"
)
"""The last ones are what lets whoever has a presigned address of S3, GCS or Azure read the object."""


def _unless_a_word(found: re.Match[str]) -> str:
    """What follows `Basic` in a header of its name, or is a user and a password; else it is an English word."""
    header, scheme, value = found.groups()
    return f"{header or ''}{scheme}{MASK}" if header or _is_user_and_password(value) else found[0]


def _is_user_and_password(value: str) -> bool:
    digits = value.rstrip("=.~")
    others = b"-_" if set(digits) & set("-_") else None
    try:
        told = b64decode(digits + "=" * (-len(digits) % 4), altchars=others, validate=True).decode()
    except ValueError:
        return False
    return ":" in told and told.isprintable()


_SHAPES = (
    _Shape(re.compile("xox|xapp-"), re.compile(r"xox[a-z](?:\.xox[a-z])?-[\w-]{8,}|xapp-[\w-]{8,}")),
    _Shape(re.compile("akia|asia"), re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    _Shape(re.compile("eyj"), re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*")),
    _Shape(re.compile("gh[opsu]_"), re.compile(r"\bgh[opsu]_[A-Za-z0-9]{20,}\b")),
    _Shape(
        re.compile("-----begin "),
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    ),
    _Shape(re.compile("://"), re.compile(r"(?<=://)([^/\s:@'\"]+):[^/\s@'\"]+(?=@)"), rf"\1:{MASK}"),
    _Shape(re.compile("bearer"), re.compile(r"(?i)\b(bearer\s+)[\w.~+/-]{8,}=*"), rf"\g<1>{MASK}"),
    _Shape(
        re.compile("basic"),
        re.compile(r"(?i)(authorization[\"']?\s*[=:]\s*[\"']?)?\b(basic\s+)([\w.~+/-]{6,}=*)"),
        _unless_a_word,
    ),
    _Shape(re.compile(_NAMED), re.compile(rf"(?i)({_NAMED}\s*[\"']?)[^\s\"'&,;{{}}]{{4,}}"), rf"\g<1>{MASK}"),
)


class Masking:
    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """`secrets`: the values that this process knows; also found as they stand in an address or in JSON."""
        known = {form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)}
        longest_first = sorted(known, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, value: str) -> str:
        told = self._known.sub(MASK, value) if self._known else value
        small = None if _LIKE_OURS.search(told) else told.lower()
        for shape in _SHAPES:
            if small is None or shape.cue.search(small):
                told = shape.pattern.sub(shape.instead, told)
        return told

    def of(self, value: object) -> object:
        """The same for what JSON holds: every text in it, at any depth."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {key: self.of(inner) for key, inner in value.items()}
            case list() | tuple():
                return [self.of(inner) for inner in value]
            case _:
                return value


def _forms(secret: str) -> set[str]:
    escaped = secret.replace("\\", "\\\\").replace('"', '\\"')
    return {secret, quote(secret, safe=""), quote(secret), escaped}


LONGEST_MESSAGE, LONGEST_CAUSE = 300, 600
"""Characters that are kept of the first line of a trace, and of each cause."""


def veiled_run(run: JobRun, veil: Callable[[str], str]) -> JobRun:
    """The same run; what Flink says of its failures, and of those of its checkpoints, shows nothing that `veil` takes
    away: exceptions name files, and the paths of files carry values."""
    failures = tuple(_veiled_failure(each, veil) for each in run.failures)
    checkpoints = tuple(_veiled_checkpoint(each, veil) for each in run.checkpoints)
    return run.model_copy(update={"failures": failures, "checkpoints": checkpoints})


def _veiled_failure(failure: Failure, veil: Callable[[str], str]) -> Failure:
    told = {
        "exception": veil(failure.exception),
        "message": veil(failure.message)[:LONGEST_MESSAGE],
        "causes": tuple(veil(cause)[:LONGEST_CAUSE] for cause in failure.causes),
    }
    return failure.model_copy(update=told)


def _veiled_checkpoint(checkpoint: CompletedCheckpoint, veil: Callable[[str], str]) -> CompletedCheckpoint:
    said = None if checkpoint.failure is None else veil(checkpoint.failure)
    return checkpoint.model_copy(update={"failure": said})

"""Where two records differ, in words: what was recorded, and what is read now."""

from collections.abc import Collection, Iterator, Sequence

from pydantic import BaseModel

_SHOWN = 3
_WIDEST = 80


def differences(what: str, recorded: BaseModel, now: BaseModel, leaving: Collection[str] = ()) -> tuple[str, ...]:
    """Sentences, at most three and how many more; empty where both say the same. `leaving`: fields that are passed."""
    before = recorded.model_dump(mode="json", exclude=set(leaving))
    after = now.model_dump(mode="json", exclude=set(leaving))
    found = list(_between("", before, after))
    told = tuple(f"{what}, {place}: recorded {_short(then)}, read now {_short(here)}" for place, then, here in found)
    more = len(told) - _SHOWN
    return told if more <= 0 else (*told[:_SHOWN], f"{what}: {more} further differences")


def _between(place: str, before: object, after: object) -> Iterator[tuple[str, object, object]]:
    match before, after:
        case dict(), dict():
            for name in dict.fromkeys([*before, *after]):
                yield from _between(f"{place}.{name}".lstrip("."), before.get(name), after.get(name))
        case list(), list() if len(before) == len(after):
            for number, (then, here) in enumerate(zip(before, after, strict=True)):
                yield from _between(f"{place}[{number}]", then, here)
        case _:
            if before != after:
                yield place, before, after


def _short(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"{len(value)} items"
    text = repr(value)
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…"

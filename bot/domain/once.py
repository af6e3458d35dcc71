"""What follows from a case alone is worked out once for it, however many failure modes ask."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import ref

from bot.domain.diagnosis import Case

T = TypeVar("T")


def once_a_case(make: Callable[[Case], T]) -> Callable[[Case], T]:
    """Keeps what `make` gives for as long as the case lives. A case never changes; two threads may both work it out."""
    kept: dict[int, tuple[ref[Case], T]] = {}

    @wraps(make)
    def of(case: Case) -> T:
        found = kept.get(id(case))
        if found is not None and found[0]() is case:
            return found[1]
        value, key = make(case), id(case)
        kept[key] = (ref(case, lambda _: kept.pop(key, None)), value)
        return value

    return of

"""What is still to be rewritten: `python -m tests.words [KIND | PATH …]` prints it, `--tighten` lowers what is allowed.

A kind prints all of its places (`slack`, `errors`), a path only those in files of that name (`bot/slack/commands.py`).
"""

import sys
from collections.abc import Iterator

from tests.words.measure import LONGEST, Measured, measure
from tests.words.sources import everything
from tests.words.test_words import NOT_YET, Left, keep


def _table(measured: dict[str, Measured]) -> Iterator[str]:
    yield f"{'kind':24}{'sentences':>10}{'average':>9}{'longest':>9}{f'above {LONGEST}':>10}{'forbidden':>11}"
    for kind, found in measured.items():
        longest = found.too_long[0][0] if found.too_long else f"≤ {LONGEST}"
        counts = f"{len(found.too_long):>10}{len(found.forbidden):>11}"
        yield f"{kind:24}{found.sentences:>10}{found.average:>9}{longest:>9}{counts}"


def _places(found: Measured, only: str = "") -> Iterator[str]:
    yield from (f"  {place}: {count} words: {text}" for count, place, text in found.too_long if only in place)
    yield from (f"  {place}: not “{word}”: {instead}" for word, place, instead in found.forbidden if only in place)


def main(asked: list[str]) -> None:
    """The places that were asked for, then the table."""
    measured = {kind: measure(texts) for kind, texts in everything().items()}
    if "--tighten" in asked:
        keep({kind: Left.of(found).lowest(NOT_YET.get(kind)) for kind, found in measured.items()})
        return
    lines: list[str] = []
    for want in asked:
        for kind, found in measured.items():
            is_kind = kind.lower().startswith(want.lower())
            if is_kind or "/" in want or "." in want:
                lines += _places(found, "" if is_kind else want)
    print("\n".join([*lines, *_table(measured)]))  # noqa: T201 - a report


if __name__ == "__main__":
    main(sys.argv[1:])

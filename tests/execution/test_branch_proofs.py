"""A repair is proven on its branch beside another fault that main had where the branch began, and had all of it."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot.domain.contract import HIDDEN, TableContract
from bot.domain.entries import Check
from bot.domain.evidence import Verdict, no_more_found
from bot.domain.findings import (
    DuplicateFile,
    DuplicateFilesFinding,
    DuplicatePair,
    DuplicatesFinding,
    Finding,
    GapsFinding,
    PositionGap,
)
from bot.domain.hidden_values import kept
from bot.domain.ids import SnapshotId
from bot.domain.looked import NotSeen
from bot.service.verifying import no_more_than_main

BASE, BRANCH = SnapshotId(7_000_001), SnapshotId(7_000_002)
CHECK = Check(name="No missing rows", passed=False, sentence="Positions are missing.")


def told(finding: Finding | None, head: SnapshotId = BASE, **more: Any) -> Any:
    """An answer that found this."""
    task = {"gaps": "missing_positions", "duplicates": "duplicate_rows", "duplicate-files": "duplicate_files"}
    known = {"verdict": Verdict.CONFIRMED, "headline": "So it is.", "rows": (), "could_not_look": (), **more}
    return SimpleNamespace(task=task[finding.kind] if finding else "ledger", finding=finding, head=head, **known)


def gaps(*spans: tuple[int, int], missing: int | None = None, partition: str | None = None) -> GapsFinding:
    """These positions are missing, and as many in all as `missing` says."""
    named = tuple(PositionGap(first=first, last=last, partition=partition) for first, last in spans)
    number = sum(each.size for each in named) if missing is None else missing
    return GapsFinding(lowest=0, highest=99, positions=100 - number, missing=number, gaps=named)


def hidden(*spans: tuple[int, int]) -> GapsFinding:
    """The same, as the record keeps it where the contract hides the positions."""
    told = kept(gaps(*spans), TableContract(position="source_position", redacted=("source_position",)))
    assert isinstance(told, GapsFinding)
    assert told.is_hidden
    return told


def veiled(*sizes: int) -> tuple[tuple[str, ...], ...]:
    """The lines of an answer, one a gap."""
    return tuple(("none", HIDDEN, HIDDEN, str(size)) for size in sizes)


def twice(*pairs: tuple[int, int, int], hidden: int = 0, keys: int | None = None) -> DuplicatesFinding:
    """So many keys by each first and second commit."""
    named = tuple(DuplicatePair(first=SnapshotId(a), second=SnapshotId(b), keys=number) for a, b, number in pairs)
    number = sum(pair.keys for pair in named) if keys is None else keys
    return DuplicatesFinding(rows_checked=100, keys=number, extra_rows=number, pairs=named, hidden=hidden)


def files(*paths: str, again: int = 2) -> DuplicateFilesFinding:
    """These are live twice."""
    named = tuple(DuplicateFile(path=path, snapshots=(SnapshotId(1), SnapshotId(2)), rows=5) for path in paths)
    count = len(named)
    return DuplicateFilesFinding(
        files_checked=9, count=count, extra_rows=5 * count, files=named, again=(SnapshotId(again),)
    )


@pytest.mark.parametrize(
    ("now", "before", "is_known"),
    [
        (gaps((30, 39)), gaps((30, 39)), True),
        (gaps((30, 34)), gaps((30, 39), (50, 59)), True),
        (gaps((40, 49)), gaps((30, 39)), False),
        (gaps((30, 40)), gaps((30, 39), (50, 59)), False),
        (gaps((30, 39), partition="1"), gaps((30, 39), partition="2"), False),
        (gaps((0, 1), (90, 91), missing=50), gaps((0, 1), (60, 61), missing=50), True),
        (gaps((0, 1), (50, 51), missing=50), gaps((0, 1), (60, 61), missing=50), False),
        (gaps((0, 1), (60, 61), missing=51), gaps((0, 1), (60, 61), missing=50), False),
        (gaps((30, 49)), gaps((30, 39), (40, 49)), True),
        (gaps((30, 34), (35, 49)), gaps((30, 39), (40, 49)), True),
        (gaps((30, 49)), gaps((30, 39), (41, 50)), False),
        (gaps((29, 48)), gaps((30, 39), (40, 49)), False),
        (gaps((30, 49), partition="1"), gaps((30, 49), partition="2"), False),
        (gaps((0, 1), (60, 65), missing=50), gaps((0, 1), (60, 61), missing=50), True),
        (gaps((0, 1), (58, 65), missing=50), gaps((0, 1), (60, 61), missing=50), False),
        (twice((1, 2, 10)), twice((1, 2, 10)), True),
        (twice((1, 2, 9)), twice((1, 2, 10), (1, 3, 1)), True),
        (twice((1, 3, 10)), twice((1, 2, 10)), False),
        (twice((1, 2, 10), keys=11), twice((1, 2, 10)), False),
        (twice((1, 2, 10), hidden=1), twice((1, 2, 10)), False),
        (files("a"), files("a", "b"), True),
        (files("c"), files("a", "b"), False),
        (files("a", again=3), files("a"), False),
        (hidden((30, 39)), hidden((30, 39), (50, 59)), True),
        (hidden((30, 40)), hidden((30, 39)), False),
        (gaps((30, 39)), hidden((30, 39)), True),
        (gaps((30, 40)), hidden((30, 39)), False),
        (gaps((30, 39)), twice((1, 2, 10)), False),
        (None, None, False),
    ],
)
def test_nothing_more_is_what_was_there_and_not_as_much(
    now: Finding | None, before: Finding | None, *, is_known: bool
) -> None:
    """Ten rows that are missing elsewhere are others, though they are ten."""
    assert no_more_found(told(now), told(before)) == is_known


def test_other_keys_are_more_where_all_were_named() -> None:
    """By the same two commits, and as many."""
    before = told(twice((1, 2, 1)), rows=(("17", "2", "…01 → …02"),))

    assert no_more_found(told(twice((1, 2, 1)), rows=(("17", "2", "…01 → …02"),)), before)
    assert not no_more_found(told(twice((1, 2, 1)), rows=(("18", "2", "…01 → …02"),)), before)


def test_what_could_be_seen_before_must_be_seen_now() -> None:
    """Rows whose place is not told now may be the ones that are missing."""
    unseen = NotSeen(source="column source_position", reason="It is null.", remedy="Look again.")
    bare = told(gaps((30, 39)), could_not_look=(unseen,))

    assert not no_more_found(bare, told(gaps((30, 39))))
    assert no_more_found(bare, bare)


def test_it_is_passed_and_says_what_is_left() -> None:
    """Under a name that is true."""
    check = no_more_than_main(CHECK, told(gaps((30, 39)), BRANCH), told(gaps((30, 39))), BASE)

    assert (check.passed, check.was_before, check.name) == (True, True, "No additional missing rows")
    assert check.sentence.startswith("10 rows are missing, as before this repair; main at …000001, where its branch")
    assert "The table stays under review until it is fixed and verified" in check.sentence


def test_of_what_it_mends_in_part_it_says_what_stays() -> None:
    """Its own part is back, and older gaps are left: the approver reads which."""
    left = told(
        gaps((30, 39), (50, 59)),
        BRANCH,
        headline="Left.",
        rows=(("none", "30", "39", "10"), ("none", "50", "59", "10")),
    )
    check = no_more_than_main(CHECK, left, told(gaps((30, 39), (50, 79))), BASE)

    assert (check.passed, check.was_before) == (True, True)
    assert check.sentence.startswith("20 rows are missing, 40 before this repair; main at …000001, where its branch")
    assert "has these and more. What is left: Left. The gaps: 30 to 39, 50 to 59. This repair" in check.sentence


def test_it_is_said_that_not_all_gaps_are_named() -> None:
    """An answer names twenty of them, and a sentence five."""
    rows = tuple(("7", str(10 * n), str(10 * n + 1), "2") for n in range(6))
    spans = tuple((10 * n, 10 * n + 1) for n in range(6))
    left = told(gaps(*spans, partition="7"), BRANCH, rows=rows)
    check = no_more_than_main(CHECK, left, told(gaps(*spans, (80, 81), partition="7")), BASE)

    assert "0 to 1 of partition 7, 10 to 11 of partition 7, " in check.sentence
    assert "40 to 41 of partition 7 and more." in check.sentence


def test_hidden_positions_are_held_by_their_number_and_that_is_said() -> None:
    """Of what the repair mends in part: the proof does not die of it, and names no position."""
    left = told(hidden((30, 39), (50, 59)), BRANCH, headline="Left.", rows=veiled(10, 10))
    check = no_more_than_main(CHECK, left, told(hidden((30, 39), (50, 79))), BASE)

    assert (check.passed, check.was_before) == (True, True)
    assert (
        "20 rows are missing, 40 before this repair; main at …000001, where its branch began, has more."
        in check.sentence
    )
    assert (
        "What is left: Left. The contract hides the positions, so only the counts were compared with" in check.sentence
    )
    assert "compared with main. This repair does not fix it" in check.sentence


def test_as_many_hidden_ones_are_not_called_the_same() -> None:
    """They may be others: who approves it reads so."""
    left = told(hidden((60, 69), (80, 89)), BRANCH, rows=veiled(10, 10))
    check = no_more_than_main(CHECK, left, told(hidden((30, 49)), headline="20 are missing."), BASE)

    assert check.passed
    assert "began, has as many: 20 are missing. The contract hides the positions" in check.sentence


def test_one_hidden_position_more_has_failed() -> None:
    """What takes rows away and brings none cannot hide a loss from the number."""
    check = no_more_than_main(CHECK, told(hidden((30, 40)), BRANCH), told(hidden((30, 39))), BASE)

    assert (check.passed, check.was_before) == (False, False)


def test_what_main_did_not_have_has_failed() -> None:
    """One row more, and one where there was none."""
    more = no_more_than_main(CHECK, told(gaps((30, 40)), BRANCH), told(gaps((30, 39))), BASE)
    first = no_more_than_main(CHECK, told(gaps((30, 40)), BRANCH), told(gaps(), verdict=Verdict.RULED_OUT), BASE)

    assert (more.passed, first.passed) == (False, False)
    assert not more.was_before
    assert "It was not so before this repair" in more.sentence


@pytest.mark.parametrize(
    ("main", "says"),
    [
        (None, "could not check main"),
        (told(gaps((30, 39)), SnapshotId(7_000_009)), "main is at …000009"),
        (told(None, verdict=Verdict.INCONCLUSIVE), "the answer for main is: So it is."),
    ],
    ids=["no answer", "moved on", "cannot tell"],
)
def test_where_main_does_not_tell_nothing_is_known(main: Any, says: str) -> None:
    """Neither passed nor failed."""
    check = no_more_than_main(CHECK, told(gaps((30, 39)), BRANCH), main, BASE)

    assert check.passed is None
    assert says in check.sentence

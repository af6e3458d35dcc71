"""Copies are taken out only when no more of them come, by every start of the job: told as histories and answers.

`b4@30` is a commit of run b with checkpoint 4 and positions 30 to 39; `!` behind it: by a sink under another uid. `s`
is another engine's append.
"""

import re
from collections.abc import Collection
from typing import Any

import pytest

from bot.actions import deduplicate_rows, drop_duplicated_commit
from bot.actions._support.passed import may_have_come_since, must_have_passed
from bot.history.case import Case
from bot.incident.action import Plan
from bot.incident.diagnosis import Matches, Remedy
from bot.observation.contract import CopyRule
from bot.observation.errors import Refused
from bot.observation.file_changes import RowsOfFile
from bot.observation.findings import CopiesOfCommit, DuplicateFilesFinding, ExtraCopiesFinding
from bot.observation.ids import OperatorId, SnapshotId
from bot.observation.ledger import Ledger, SourceRange
from tests.actions.plans import ASKED, plan_of
from tests.cases import Tale

A, REPLAY = "a1@0 a2@10 a3@20", "a1@0 a2@10 a3@20 a4@30 a5@40 a6@50"
ANEW = f"{A} a4@0 a5@10"
"""Run a began without state: IcebergSink passed over checkpoints 1 to 3, which main had (F4), so its ids go on."""
BELOW = r"still reads rows that main already has.*up to source position {1}; .* committed up to {0}\."
UNTOLD = "has read past all rows on main: the commit history does not tell the source positions of every commit"


def known(
    history: str,
    *,
    alive: str = "",
    listed: str = "ab",
    told: bool = True,
    partitions: str = "",
    hidden: bool = False,
    copies: Collection[int] | None = (),
    left_out: Collection[int] = (),
    named_again: int | None = None,
    **found: Any,
) -> Case:
    """What is known of it. `alive`: the run that goes on, else the one that committed last. `told`: the ledger has
    positions; `left_out` are the commits that it does not list. `partitions`: of each commit the source partition, one
    character, `?` where it is not told. `copies`: by which commits ten extra copies each came; empty: that is hidden,
    None: nobody looked. `named_again`: the commit whose files the table had already."""
    tale, commits = Tale(), [re.fullmatch(r"(\w)(\d*)@?(\d*)(!?)", each) for each in history.split()]
    places = []
    for commit in commits:
        tale.commits(commit[1] if commit[2] else None, *([int(commit[2])] if commit[2] else []))
        if commit[4] or commit[1] == "e":
            tale.by_sink(OperatorId("ee" * 16))
        places.append(int(commit[3]) if commit[3] else None)
    for run in listed:
        if f"{run}" in history or run == alive:
            tale.flink_runs(run)
    for run in set(listed) - {alive or next(each[0] for each in reversed(history.split()) if each != "s")}:
        if run in tale.runs:
            tale.becomes(run, "FINISHED")
    case = tale.case()
    rows = list(case.ledger.rows)
    for n, low in enumerate(places):
        ends = {"position_from": low, "position_until": low + 9} if told and low is not None else {}
        ranges = None
        if told and partitions and partitions[n] != "?" and low is not None:
            ranges = (SourceRange(partition=partitions[n], low=low, high=low + 9, rows=10),)
        rows[n] = rows[n].model_copy(update={"position_from": None, "position_until": None, **ends, "ranges": ranges})
    kept = tuple(row for n, row in enumerate(rows) if n not in left_out)
    contract = case.contract.model_copy(
        update={"position_partition": "p" if partitions else None, "redacted": ("pos",) if hidden else ()}
    )
    by = tuple(CopiesOfCommit(snapshot_id=tale.snapshots[n].snapshot_id, rows=10) for n in copies or ())
    extra = ExtraCopiesFinding(
        at=tale.snapshots[-1].snapshot_id, keys=10, rows=10 * len(by) or 10, commits=by, differing=0, columns={},
        twice_named=0, hidden=0 if by else 10, places=(RowsOfFile(path="file:///a.parquet", spans=((0, 9),)),),
        rule=CopyRule(),
    )  # fmt: skip
    again = () if named_again is None else (tale.snapshots[named_again].snapshot_id,)
    update = {
        "ledger": Ledger(rows=kept, readers_known=True),
        "contract": contract,
        "extra_copies": extra if copies is not None else None,
        "duplicate_files": DuplicateFilesFinding(files_checked=4, count=1, extra_rows=10, files=(), again=again),
    }
    return case.model_copy(update=update | found)


def asked(case: Case, *repeating: SnapshotId) -> Plan:
    match = Matches(headline="Asked.", reasons=(), remedy=Remedy.NOTHING, repeating=repeating)
    return plan_of(case, ASKED, match)


DOWN: dict[str, Any] = {"alive": "z"}
PASSED = {
    "it is below": (f"{REPLAY} b4@30 b5@40", {}, BELOW.format(49, 59)),
    "it has passed": (f"{REPLAY} b4@30 b5@40 b6@50", {}, None),
    "no positions": (f"{REPLAY} b4@30 b5@40", {"told": False}, UNTOLD),
    "bounds of all partitions": (f"{REPLAY} b4@30", {"partitions": "???????"}, UNTOLD),
    "below in one partition": (f"{A} b4@0 b5@90", {"partitions": "00101"}, BELOW.format(9, 19)),
    "passed in each partition": (f"{A} b4@0 b5@20", {"partitions": "01101"}, None),
    "silent in one partition": (f"{A} b4@20", {"partitions": "0111"}, "nothing yet of source partition 0"),
    "they are hidden": (f"{REPLAY} b4@30", {"hidden": True}, "a source position that is not shown.*a lower one"),
    "it alone, and F1": (f"{A} a2@10", {"copies": [3], "named_again": 3}, None),
    "it alone, and F1, untold": (f"{A} a2@10", {"copies": [3], "named_again": 3, "told": False}, None),
    "F1, and it goes on": (f"{A} a2@10 a4@30", {"copies": [3], "named_again": 3, "told": False}, None),
    "F1 of its newest": (f"{A} a3@20", {"copies": [3]}, None),
    "a window from its start on": (f"{REPLAY} b1@0", {"left_out": range(6)}, UNTOLD),
    "an older start is left out": (f"{A} a1@0 a2@10", {"left_out": range(3)}, UNTOLD),
    "enough is told": ("c9@90 " + f"{REPLAY} b4@30 b5@40", {"left_out": [0]}, BELOW.format(49, 59)),
    "a guest of another source": (f"{A} e91@900 a4@30 a5@40 b4@30 b5@40 b6@50 b7@60", {"listed": "b"}, None),
    "a newer start": (f"{REPLAY} a1@0 a2@10", {}, BELOW.format(19, 59)),
    "its first checkpoint": (f"{A} a1@0", {}, BELOW.format(9, 29)),
    "under another uid": (f"{REPLAY} a1@0! a2@10!", {}, BELOW.format(19, 59)),
    "a newer start has passed": (f"{A} a1@0 a2@10 a3@20", {}, None),
    "its newest commit counts": (f"{A} b4@30 b5@40 b6@50 b7@0 b8@10", {}, BELOW.format(19, 59)),
    "it is down below": (f"{REPLAY} b4@30 b5@40", DOWN, "The job is down, at source position 49 of 59.*has passed 59"),
    "down, and hidden": (f"{REPLAY} b4@30", DOWN | {"hidden": True}, "is down, below what main has of its source"),
    "it is down above": (f"{A} a4@30 b4@30 b5@40", DOWN, None),
    "two that are forgotten": (f"{A} e91@900 a4@30", {"listed": ""}, "Flink lists no run by which to tell them apart"),
    "anew, below": (ANEW, {"copies": [3, 4]}, BELOW.format(19, 29)),
    "anew, copies are hidden": (ANEW, {}, BELOW.format(19, 29)),
    "anew, down": (ANEW, DOWN, "at source position 19 of 29"),
    "anew, passed": (f"{ANEW} a6@20", {}, None),
    "anew, nobody looked": (ANEW, {"copies": None}, BELOW.format(19, 29)),
    "only F1 repeated": (f"{A} a2@10 a4@0 a5@10", {"copies": [3], "named_again": 3}, None),
    "untold copies": (f"{A} a4@30", {"copies": [3], "told": False}, UNTOLD),
    "untold, nobody looked": (f"{A} a4@30", {"copies": None, "told": False}, None),
    "its first is left out": (A, {"left_out": [0]}, UNTOLD),
    "older files again": (f"{A} a4@0", {"copies": [3], "named_again": 3}, None),
    "older files, nobody looked": (f"{A} a4@0", {"copies": None, "named_again": 3}, None),
}


@pytest.mark.parametrize(("history", "so", "said"), PASSED.values(), ids=PASSED)
def test_what_is_said_of_a_job_that_may_repeat_more(history: str, so: dict[str, Any], said: str | None) -> None:
    """Refused while the run goes on below what main has; where that is not known, or it is down, approvers read it."""
    try:
        found = " ".join(must_have_passed(asked(known(history, **so))))
    except Refused as refused:
        found = str(refused)

    assert re.search(said, found, re.DOTALL) if said is not None else not found, found
    assert not so.get("hidden") or not re.search(r"\b\d9\b", found)


SINCE = {
    "it was below": (f"{REPLAY} b4@30 | b5@40 b6@50 b7@60", {}, True),
    "it had passed": (f"{REPLAY} b4@30 b5@40 b6@50 | b7@60", {}, False),
    "nothing came": (f"{REPLAY} b4@30 |", {}, False),
    "untold": (f"{REPLAY} b4@30 b5@40 b6@50 | b7@60", {"told": False}, True),
    "bounds of partitions": (f"{REPLAY} b4@30 b5@40 b6@50 | b7@60", {"partitions": "?" * 10}, True),
    "had passed in each partition": (f"{A} b4@0 b5@20 | b6@30", {"partitions": "011011"}, False),
    "another was started since": (f"{REPLAY} b4@30 b5@40 b6@50 | b7@60 c7@60 c8@70", {"listed": "abc"}, True),
    "one start alone": (f"{A} | a4@30 a5@40", {}, False),
    "one start alone, untold": (f"{A} | a4@30 a5@40", {"told": False}, True),
    "others add": (f"{REPLAY} b4@30 | s", {}, False),
}


@pytest.mark.parametrize(("history", "so", "may"), SINCE.values(), ids=SINCE)
def test_whether_further_copies_may_have_come(history: str, so: dict[str, Any], may: bool) -> None:
    """`|`: where they were counted."""
    before, _, after = history.partition(" |")
    case = known(before + after, **so)
    counted = case.observation.table.snapshots[len(before.split()) - 1].snapshot_id

    assert may_have_come_since(case, counted) is may


def test_where_nobody_found_copies_or_main_has_lost_what_was_counted_none_come() -> None:
    """No ledger is needed for it; a head that is not on main makes evidence stale anyway."""
    case = known(f"{A} a4@30 a5@40", told=False)
    none = case.extra_copies.model_copy(update={"keys": 0, "rows": 0, "hidden": 0})

    assert not may_have_come_since(
        case.model_copy(update={"extra_copies": none}), case.observation.table.snapshots[2].snapshot_id
    )
    assert not may_have_come_since(case, SnapshotId(1))


@pytest.mark.parametrize("action", [deduplicate_rows, drop_duplicated_commit])
def test_none_are_taken_out_below_what_main_has(action: Any) -> None:
    """Both actions ask: the rest of what the run repeats comes in commits of its own."""
    case = known(f"{REPLAY} b4@30 b5@40")
    again = case.observation.table.snapshots[6].snapshot_id

    with pytest.raises(Refused, match="Run bbbbbb still reads rows that main already has") as refused:
        action.propose(asked(case, again))

    assert "Wait until it has passed that" in refused.value.remedy
    assert "name the partition column as `position_partition` in the table's contract" in refused.value.remedy

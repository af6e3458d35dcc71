"""Lost commits that were read and committed again since: what the ledger's positions prove, and what they do not."""

import pytest

from bot.actions.restore_lost_commits import not_read_again
from bot.domain.diagnosis import Case
from bot.domain.errors import Refused
from bot.domain.evidence import Observation
from bot.domain.ids import short
from bot.domain.ledger import Ledger, LedgerRow, Sink
from bot.domain.looked import NotSeen
from bot.domain.table import Snapshot, Window
from tests import orders_table

NOBODY = NotSeen(source="nobody", reason="Nobody has looked.", remedy="Look.")
LOST = tuple(s for s in orders_table.snapshots() if s.job_id == orders_table.RUN_A)[-2:]
LATER = tuple(s for s in orders_table.snapshots() if s.job_id == orders_table.RUN_B)
Ends = tuple[int, int]


def case(lost: list[Ends], later: list[Ends], *, partition: str | None = None, sink: Sink = Sink.OTHER) -> Case:
    """Run A's last commits are lost, run B's are on main, with these positions each."""
    told = {row.snapshot_id: row for row in orders_table.ledger().rows}

    def row(snapshot: Snapshot, ends: Ends, *, on_main: bool) -> LedgerRow:
        low, high = ends
        update = {"on_main": on_main, "position_from": low, "position_until": high, "sink": sink}
        return told[snapshot.snapshot_id].model_copy(update=update)

    rows = [row(s, ends, on_main=False) for s, ends in zip(LOST, lost, strict=True)]
    rows += [row(s, ends, on_main=True) for s, ends in zip(LATER, later, strict=False)]
    return Case(
        observation=Observation(table=orders_table.table_state(), jobs=NOBODY, checkpoints=NOBODY, reads=NOBODY),
        window=Window(since=None, until=orders_table.HEAD),
        contract=orders_table.contract().model_copy(update={"position_partition": partition}),
        job_name=orders_table.JOB,
        ledger=Ledger(rows=tuple(rows), readers_known=True),
    )


def test_of_several_partitions_an_overlap_proves_nothing() -> None:
    """One partition stands at 100, another at five million: the ranges of any two commits overlap."""
    seen = case([(100, 5_000_099), (150, 5_000_149)], [(200, 5_000_199)], partition="source_partition")

    with pytest.raises(Refused, match=r"cannot be determined.*several partitions"):
        not_read_again(seen, LOST)


def test_of_several_partitions_no_part_is_proposed_silently() -> None:
    """The first of two is apart from what came since; whether the second one is nobody can tell."""
    seen = case([(100, 199), (200, 405)], [(400, 505)], partition="source_partition")

    with pytest.raises(Refused, match=f"The range of {short(LOST[1].snapshot_id)} overlaps"):
        not_read_again(seen, LOST)


def test_of_several_partitions_ranges_that_are_apart_prove_it() -> None:
    """Whatever partition a position is of."""
    seen = case([(100, 199), (200, 299)], [(300, 399)], partition="source_partition")

    assert not_read_again(seen, LOST) == (tuple(s.snapshot_id for s in LOST), ())


def test_a_commit_that_was_read_again_stays_out_and_is_named() -> None:
    """Of a source of one partition positions prove it."""
    wanted, left_out = not_read_again(case([(100, 199), (200, 299)], [(250, 349)]), LOST)

    assert wanted == (LOST[0].snapshot_id,)
    [said] = left_out
    assert said.startswith(f"Lost commit {short(LOST[1].snapshot_id)} stays out: {short(LATER[0].snapshot_id)} brought")


def test_all_of_them_read_again_leaves_nothing_to_restore() -> None:
    """Later commits cover every position, together."""
    with pytest.raises(Refused, match="Nothing needs to be restored"):
        not_read_again(case([(100, 199), (200, 299)], [(100, 159), (160, 400)]), LOST)


def test_parts_of_all_of_them_read_again_leave_something_missing() -> None:
    """Positions 200 to 249 are on main no more."""
    with pytest.raises(Refused, match="in part, and their files can only be added whole"):
        not_read_again(case([(100, 199), (200, 299)], [(100, 199), (250, 349)]), LOST)


def test_a_compaction_has_read_nothing_again() -> None:
    """Its files span what was below and above the lost commits."""
    wanted, left_out = not_read_again(case([(100, 199), (200, 299)], [(0, 400)], sink=Sink.COMPACTION), LOST)

    assert (wanted, left_out) == (tuple(s.snapshot_id for s in LOST), ())


def test_what_the_job_has_not_come_to_yet_is_left_to_it() -> None:
    """It was restored from below the rollback, and reads on: put back now, these rows would be there twice."""
    with pytest.raises(Refused, match=r"committed up to position 99, and .* reach above that"):
        not_read_again(case([(100, 199), (200, 299)], [(50, 99)]), LOST)


def test_what_it_has_begun_to_read_again_keeps_back_what_follows() -> None:
    """The first of two was read again in part, and the job will come to the second."""
    with pytest.raises(Refused, match=f"and {short(LOST[1].snapshot_id)} reach"):
        not_read_again(case([(100, 199), (200, 299)], [(100, 149)]), LOST)


def test_what_it_has_passed_over_is_put_back_without_what_it_has_not() -> None:
    """Position 250 was committed since; the commit that reaches to 299 stays out, and is named."""
    wanted, left_out = not_read_again(case([(100, 199), (260, 299)], [(200, 250)]), LOST)

    assert wanted == (LOST[0].snapshot_id,)
    [said] = left_out
    assert f"Lost commit {short(LOST[1].snapshot_id)} stays out" in said
    assert "up to position 250" in said


def test_of_several_partitions_nobody_is_told_to_wait_for_what_may_never_come() -> None:
    """Since the rollback only another partition has committed: the job may have passed these rows by."""
    seen = case([(100, 150), (151, 200)], [(0, 50)], partition="source_partition")

    with pytest.raises(Refused, match=r"cannot be determined.*may have skipped those rows or may still read them"):
        not_read_again(seen, LOST)

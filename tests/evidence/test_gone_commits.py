"""No restore point pairs over commits that may have been lost and expired: a job started there would never bring their
rows again."""

from datetime import timedelta

import pytest

from bot.domain.findings import PairVerdict
from bot.domain.gone_commits import gone_since
from bot.domain.table import HeadMove, TableState
from tests.cases import OPERATOR, Tale, job_id
from tests.evidence.restore_points import judged, stored
from tests.tables import OrdersTable, job


def set_back(*lost: int, run: str = "a") -> Tale:
    """The run committed checkpoints 1 to 3 and these, and ended; main was set back to 3, and they have expired."""
    tale = Tale().flink_runs(run).commits(run, 1, 2, 3, *lost).becomes(run, "FAILED")
    return tale.rolls_back_to(run, 3).expires(run, *lost)


def untold(tale: Tale) -> Tale:
    """The same of format v1: no sequence number tells what is gone."""
    tale.numbers_snapshots = False
    tale.snapshots = [s.model_copy(update={"sequence_number": 0}) for s in tale.snapshots]
    return tale


def clears_its_log(tale: Tale, keeps: int) -> Tale:
    """Iceberg's Java takes what expired out of the log, and all before it too: its newest lines are left."""
    tale.moves = tale.moves[-keeps:]
    return tale


def verdict(tale: Tale, checkpoint: int, *owes: int, run: str = "a") -> PairVerdict:
    """Of a restore point of the run with this id."""
    point = stored(job_id(run), checkpoint, owes=owes)
    pending = tuple(f"{job_id(run)}-{OPERATOR}-00000-0-{owed}-00001.avro" for owed in owes)
    there = point.model_copy(update={"pending_manifests": pending, "written_at": tale.now})
    return judged(there, tale.table, *tale.runs.values()).verdict


def test_what_expired_on_another_branch_was_not_mains() -> None:
    """Main's log shows that it only went forward."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).stages(None, 0)
    del tale.snapshots[-1]

    assert verdict(tale, 6) is PairVerdict.PAIRED


def test_what_is_owed_may_begin_right_above_the_newest_commit() -> None:
    """A sink that could not commit for long has all of it in its state."""
    assert verdict(Tale().flink_runs("a").commits("a", 1, 2, 3), 30, *range(5, 31)) is PairVerdict.AHEAD


@pytest.mark.parametrize("owes", [(), (8,)], ids=["nothing", "itself"])
def test_sequence_numbers_tell_of_lost_commits_that_have_expired(owes: tuple[int, ...]) -> None:
    """Checkpoints 4 to 7 were committed, by the last sequence number that the metadata keeps."""
    tale = set_back(*range(4, 8))

    assert verdict(tale, 8, *owes) is PairVerdict.UNPAIRABLE
    assert gone_since(tale.table.by_id[tale.at("a", 3)], tale.table) == 4


def test_they_tell_it_also_when_the_job_has_gone_on() -> None:
    """Another run committed above, so that the hole lies between listed commits."""
    tale = set_back(*range(4, 8)).flink_runs("b", restored=3).commits("b", 4, 5)

    assert verdict(tale, 8) is PairVerdict.UNPAIRABLE


def test_nothing_lies_between_a_commit_and_what_the_next_checkpoint_owes() -> None:
    """Whatever the snapshots were that are gone: the state holds all that came after."""
    assert verdict(set_back(*range(4, 8)), 4, 4) is PairVerdict.AHEAD


@pytest.mark.parametrize("upgraded", [False, True], ids=["format v1", "from before an upgrade"])
@pytest.mark.parametrize("keeps", [4, 1], ids=["PyIceberg", "Java"])
def test_without_sequence_numbers_mains_log_tells_of_the_way_back(upgraded: bool, keeps: int) -> None:
    """Expiry leaves the line of it, with a later time than the commit's own."""
    tale = clears_its_log(untold(set_back(*range(4, 8))), keeps)
    tale.numbers_snapshots = upgraded
    point = stored(job_id("a"), 8, owes=()).model_copy(update={"written_at": tale.now})

    found = judged(point, tale.table, *tale.runs.values())

    assert found.verdict is PairVerdict.UNPAIRABLE
    assert "by its log main came back to …003003 (12:01 UTC), with nothing of what it left still" in found.reason
    assert found.reason.endswith("may have been lost and expired; how many, no sequence number tells.")


def test_so_it_does_where_the_line_of_the_commit_below_is_cleared_too() -> None:
    """A backfill came between, and main went back to that."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).commits(None).commits("a", 4, 5).becomes("a", "FAILED")
    tale.head = tale.snapshots[3].snapshot_id
    tale.moves.append(HeadMove(at=tale.now, snapshot_id=tale.head))
    untold(clears_its_log(tale.expires("a", 4, 5), 1))

    assert verdict(tale, 6) is PairVerdict.UNPAIRABLE


def test_an_older_record_tells_it_too() -> None:
    """It kept the log, and not the last number."""
    tale = set_back(*range(4, 8))
    tale.numbers_snapshots = False

    assert verdict(tale, 8) is PairVerdict.UNPAIRABLE


def test_a_branch_that_was_published_took_nothing_away() -> None:
    """Main came to its commit later than that was made, and from an ancestor of it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    tale.stages(None, 0).stages(None, 0)
    tale.snapshots[-1] = tale.snapshots[-1].model_copy(update={"parent_id": tale.snapshots[-2].snapshot_id})
    tale.head = tale.snapshots[-1].snapshot_id
    tale.moves.append(HeadMove(at=tale.now + timedelta(minutes=1), snapshot_id=tale.head))

    assert verdict(untold(tale), 6) is PairVerdict.PAIRED


@pytest.mark.parametrize("moves", [(3,), (3, 5)], ids=["set back", "set forward again"])
def test_what_was_lost_and_is_still_listed_in_format_v1_is_not_gone(moves: tuple[int, ...]) -> None:
    """An empty point pairs with it."""
    tale = untold(Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).becomes("a", "FAILED"))
    for checkpoint in moves:
        tale.rolls_back_to("a", checkpoint)

    assert verdict(tale, 7) is PairVerdict.PAIRED


def test_expiry_of_the_oldest_takes_no_restore_point_away() -> None:
    """What is above the newest commit of the run is all there."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).expires("a", 1, 2, 3)

    assert verdict(tale, 6) is PairVerdict.PAIRED


def test_a_rolled_back_commit_that_is_listed_is_not_gone() -> None:
    """An empty point pairs with it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).becomes("a", "FAILED").rolls_back_to("a", 3)

    assert verdict(tale, 7) is PairVerdict.PAIRED


def test_the_metadata_of_a_real_table_tells_its_last_number(orders: OrdersTable) -> None:
    """PyIceberg's rollback and expiry leave it as it was."""
    good = orders.commits("a", 3, range(10))
    lost = orders.commits("a", 4, range(10, 20))
    orders.rolls_back_to(good)
    orders.expires(lost)
    table = orders.state()

    found = judged(stored(job("a"), 6, owes=()), table)

    assert (table.last_sequence_number, gone_since(table.by_id[good], table)) == (2, 1)
    assert found.verdict is PairVerdict.UNPAIRABLE
    assert "1 newer snapshot of the table is listed no more" in found.reason


def test_a_record_keeps_the_number_and_may_lack_it(orders: OrdersTable) -> None:
    """Cases of earlier versions are read, and keep their digests."""
    orders.commits("a", 3, range(10))
    table = orders.state()
    older = table.model_copy(update={"last_sequence_number": None})

    assert TableState.model_validate_json(table.model_dump_json()).last_sequence_number == 1
    assert "last_sequence_number" not in older.model_dump_json()
    assert TableState.model_validate_json(older.model_dump_json()).last_sequence_number is None


def test_a_log_that_keeps_its_older_lines_tells_of_the_way_back_too() -> None:
    """PyIceberg drops the lines of what expired and keeps those before, where Iceberg's Java clears them."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 10)).rolls_back_to("a", 2).expires("a", *range(4, 10))

    assert verdict(tale, 9) is PairVerdict.UNPAIRABLE

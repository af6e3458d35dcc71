"""Restore points over commits that may be lost, expired or silent: no state pairs on a guess."""

from datetime import timedelta

import pytest

from bot.domain.contract_terms import kept_for, least_kept
from bot.domain.findings import PairVerdict
from bot.domain.flink import CheckpointKind
from bot.domain.gone_commits import gone_since
from bot.domain.ids import OperatorId, SnapshotId
from bot.domain.table import HeadMove, Ref, TableState
from spark_tasks.table_health import last_commits
from tests.cases import OPERATOR, Tale, job_id
from tests.evidence.kept_tables import DAY, at
from tests.evidence.restore_points import judged, stored
from tests.evidence.test_empty_table import DYNAMIC
from tests.tables import ORDERS, OrdersTable, job, rows


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


@pytest.mark.parametrize("owes", [(), (20,), (19, 20)], ids=["nothing", "itself", "two"])
def test_a_point_far_above_the_newest_listed_commit_does_not_pair(owes: tuple[int, ...]) -> None:
    """Even without files the sink would have committed one of the checkpoints between."""
    assert verdict(set_back(*range(4, 19)), 20, *owes) is PairVerdict.UNPAIRABLE


def test_it_is_said_why() -> None:
    """With the ids and the setting that the rule stands on."""
    tale = untold(Tale().flink_runs("a").commits("a", 1, 2, 3))

    found = judged(stored(job_id("a"), 20, owes=()), tale.table, *tale.runs.values())

    assert "listed up to checkpoint 3, and of checkpoints 4 to 20" in found.reason
    assert "`flink.max-continuous-empty-commits`: 10" in found.reason
    assert found.reason.endswith("may have been lost and expired, or gone as the catalog was set back.")


@pytest.mark.parametrize(("checkpoint", "found"), [(14, PairVerdict.PAIRED), (15, PairVerdict.UNPAIRABLE)])
def test_the_sink_is_silent_for_as_long_as_the_table_allows(checkpoint: int, found: PairVerdict) -> None:
    """Ten without files in a row, and the newest may be on its way."""
    assert verdict(untold(Tale().flink_runs("a").commits("a", 1, 2, 3)), checkpoint) is found


def test_after_a_failover_it_counts_anew() -> None:
    """Eight without files, a failover, six more: the sink began again at nothing."""
    tale = untold(Tale().flink_runs("a").commits("a", 1, 2, 3)).flink_runs("a", restored=11)

    assert verdict(tale, 17) is PairVerdict.PAIRED


def test_the_sink_is_silent_for_no_longer_before_a_failover_either() -> None:
    """What Flink restored was as far above the newest listed commit."""
    tale = untold(Tale().flink_runs("a").commits("a", 1, 2, 3)).flink_runs("a", restored=21)

    assert verdict(tale, 25) is PairVerdict.UNPAIRABLE


def test_where_no_number_is_missing_the_distance_tells_all_the_same() -> None:
    """A catalog that was set back to an older metadata file has its sequence numbers set back too."""
    assert verdict(Tale().flink_runs("a").commits("a", 1, 2, 3), 21) is PairVerdict.UNPAIRABLE


def test_what_flink_has_forgotten_is_not_accused_by_the_distance_where_no_number_is_missing() -> None:
    """A restore, a failed checkpoint or another kind of sink may explain the silence, and nobody tells any more: an
    application's cluster goes with its job, which has to come back."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).forgets("a")

    assert verdict(tale, 90) is PairVerdict.PAIRED
    assert verdict(untold(tale), 90) is PairVerdict.UNPAIRABLE


@pytest.mark.parametrize(("restores", "found"), [(1, PairVerdict.UNPAIRABLE), (2, PairVerdict.PAIRED)])
def test_restores_that_flink_counts_and_tells_no_more_explain_silence(restores: int, found: PairVerdict) -> None:
    """After each the sink counts anew; only the newest is told, here at 19."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).flink_runs("a", restored=19)
    tale.runs["a"] = tale.runs["a"].model_copy(update={"restored_count": restores})

    assert verdict(tale, 24) is found


@pytest.mark.parametrize(("failed", "found"), [(3, PairVerdict.UNPAIRABLE), (12, PairVerdict.PAIRED)])
def test_failed_checkpoints_that_flink_counts_and_lists_no_more_explain_silence(
    failed: int, found: PairVerdict
) -> None:
    """Its history holds ten."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    tale.runs["a"] = tale.runs["a"].model_copy(update={"failed_count": failed})

    assert verdict(tale, 24) is found


def test_failed_checkpoints_from_before_all_that_flink_lists_explain_nothing_there() -> None:
    """It lists 104 to 123 as completed, without a commit: the thirty that failed lie below."""
    tale = Tale().flink_runs("a").commits("a", 101, 102, 103).completes("a", *range(101, 124))
    tale.runs["a"] = tale.runs["a"].model_copy(update={"failed_count": 30})

    assert verdict(tale, 124) is PairVerdict.UNPAIRABLE


@pytest.mark.parametrize(("v1", "found"), [(True, PairVerdict.PAIRED), (False, PairVerdict.UNPAIRABLE)])
def test_savepoints_between_are_none_to_a_v1_sink(v1: bool, found: PairVerdict) -> None:
    """It is not notified of them, so that they are not counted; IcebergSink commits each by itself."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", 1, 2, 3).completes("a", *range(8, 14))
    taken = tuple(c.model_copy(update={"kind": CheckpointKind.SAVEPOINT}) for c in tale.runs["a"].checkpoints)
    tale.runs["a"] = tale.runs["a"].model_copy(update={"checkpoints": taken})

    assert verdict(tale, 20) is found


def test_the_table_may_allow_more() -> None:
    """Its property says so."""
    tale = untold(Tale().flink_runs("a").commits("a", 1, 2, 3))
    tale.properties["flink.max-continuous-empty-commits"] = "30"

    assert verdict(tale, 20) is PairVerdict.PAIRED


def test_checkpoints_that_failed_are_none_to_the_sink() -> None:
    """Twelve of them came between, so that six passed without files."""
    tale = untold(Tale().flink_runs("a").commits("a", 1, 2, 3))
    tale.completes("a", *range(4, 16))
    failed = tuple(c.model_copy(update={"status": "FAILED"}) for c in tale.runs["a"].checkpoints)
    tale.runs["a"] = tale.runs["a"].model_copy(update={"checkpoints": failed})

    assert verdict(tale, 21) is PairVerdict.PAIRED


def test_a_dynamic_sink_is_silent_for_as_long_as_no_row_comes() -> None:
    """It never commits without files."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    run = tale.runs["a"]
    sink = run.vertices[1].model_copy(update={"name": DYNAMIC, "vertex_id": OperatorId("bb" * 16)})
    tale.runs["a"] = run.model_copy(update={"vertices": (run.vertices[0], sink)})

    assert verdict(tale, 90) is PairVerdict.PAIRED


HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def below_the_head(orders: OrdersTable) -> tuple[SnapshotId, SnapshotId]:
    """(The last commit of run `a`, another writer's above it)."""
    orders.commits("a", 1, range(10))
    return orders.commits("a", 2, range(10, 20)), orders.appends(rows(range(20, 30)))


def left(orders: OrdersTable, later: timedelta = timedelta(0)) -> tuple[bool, int | None]:
    """(Whether the last commit of run `a` stays for ever, else its hours, rounded), asked so much later."""
    ask = at(orders.ask(None), later)
    [last] = last_commits(ask, ask.observation.table.chain)
    return last.is_protected, None if last.expires_within_s is None else round(last.expires_within_s / 3600)


def test_without_a_word_of_its_own_main_follows_the_table(orders: OrdersTable) -> None:
    """Five days are Iceberg's default."""
    below_the_head(orders)

    assert left(orders) == (False, 120)


@pytest.mark.parametrize(
    ("age_ms", "told"), [(None, (True, None)), (2**63 - 1, (True, None)), (9 * DAY_MS, (False, 216))]
)
def test_a_tag_keeps_the_commit_until_its_own_end(
    orders: OrdersTable, age_ms: int | None, told: tuple[bool, int | None]
) -> None:
    """RETAIN 9 DAYS: then expiry drops the tag, and the commit with it."""
    last, _ = below_the_head(orders)
    orders.catalog.load_table(ORDERS).manage_snapshots().create_tag(last, "keep", max_ref_age_ms=age_ms).commit()

    assert left(orders) == told


def test_a_tag_that_ends_before_the_table_would_expire_keeps_nothing_longer(orders: OrdersTable) -> None:
    """RETAIN 1 DAYS on a table that keeps five; and nothing is left when both are over."""
    last, _ = below_the_head(orders)
    orders.catalog.load_table(ORDERS).manage_snapshots().create_tag(last, "keep", max_ref_age_ms=DAY_MS).commit()

    assert (left(orders), left(orders, 6 * DAY)) == ((False, 120), (False, 0))


def test_the_tables_rule_for_tags_holds_for_those_without_one(orders: OrdersTable) -> None:
    """`history.expire.max-ref-age-ms` drops every tag of that age."""
    last, _ = below_the_head(orders)
    orders.tags("keep", last)
    orders.sets({"history.expire.max-ref-age-ms": str(7 * DAY_MS)})

    assert left(orders) == (False, 168)


def test_mains_own_retention_goes_before_the_tables(orders: OrdersTable) -> None:
    """WITH SNAPSHOT RETENTION 1 SNAPSHOTS 1 HOURS, whatever the table's properties say."""
    _, head = below_the_head(orders)
    orders.sets({"history.expire.min-snapshots-to-keep": "50"})
    change = orders.catalog.load_table(ORDERS).manage_snapshots()
    change.create_branch(head, "main", max_snapshot_age_ms=HOUR_MS, min_snapshots_to_keep=1).commit()

    assert left(orders) == (False, 1)
    assert (kept_for(orders.state()), least_kept(orders.state())) == (timedelta(hours=1), 1)


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ({"min_snapshots": 2}, (True, None)),
        ({"max_snapshot_age_ms": 9 * DAY_MS}, (False, 216)),
        ({"max_snapshot_age_ms": 9 * DAY_MS, "max_ref_age_ms": 6 * DAY_MS}, (False, 144)),
    ],
)
def test_a_branch_keeps_what_lies_below_its_head_by_its_own_rules(
    orders: OrdersTable, rules: dict[str, int], told: tuple[bool, int | None]
) -> None:
    """As many as it is to keep, or as long, and no longer than it stays itself."""
    _, head = below_the_head(orders)
    orders.appends(rows(range(30, 40)))
    ask = orders.ask(None)
    branch = Ref(name="audit", kind="branch", snapshot_id=head, **rules)
    ask = at(ask, timedelta(0), refs=(*ask.observation.table.refs, branch))

    [last] = last_commits(ask, ask.observation.table.chain)

    hours = None if last.expires_within_s is None else round(last.expires_within_s / 3600)
    assert (last.is_protected, hours) == told


def test_a_ref_without_rules_is_stored_as_it_always_was() -> None:
    """Old cases load, and their digests stay."""
    plain = Ref(name="main", kind="branch", snapshot_id=SnapshotId(7))

    assert plain.model_dump(mode="json") == {"name": "main", "kind": "branch", "snapshot_id": 7}
    assert Ref.model_validate(plain.model_dump()) == plain

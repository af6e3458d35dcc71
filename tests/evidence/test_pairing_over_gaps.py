"""Restore points over commits that may be lost, expired or silent: no state pairs on a guess."""

from collections.abc import Callable, Mapping
from datetime import timedelta

import pytest

from bot.history.rollbacks import gone_since
from bot.incident.contract_terms import kept_for, least_kept
from bot.observation.findings import PairVerdict
from bot.observation.flink import CheckpointKind
from bot.observation.ids import OperatorId, SnapshotId
from bot.observation.table import HeadMove, Ref, TableState
from spark_tasks.table_health import last_commits
from tests.cases import OPERATOR, Tale, job_id
from tests.evidence.histories import write
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


def run_changed(tale: Tale, **changes: object) -> Tale:
    """What Flink shows of run a is this."""
    return tale.shows("a", **changes)


def completed(tale: Tale, *checkpoints: int, **changes: object) -> Tale:
    """Flink lists these checkpoints of run a so."""
    tale.completes("a", *checkpoints)
    return run_changed(tale, checkpoints=tuple(c.model_copy(update=changes) for c in tale.runs["a"].checkpoints))


def three() -> Tale:
    """Run a committed 1, 2 and 3."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3)


def staged() -> Tale:
    """What expired on another branch was not main's: its log shows that it only went forward."""
    tale = three().stages(None, 0)
    del tale.snapshots[-1]
    return tale


def unnumbered() -> Tale:
    """An older record kept the log, and not the last number."""
    tale = set_back(*range(4, 8))
    tale.numbers_snapshots = False
    return tale


def back_to_backfill() -> Tale:
    """A backfill came between, main went back to that, and the line of the commit below is cleared too."""
    tale = three().commits(None).commits("a", 4, 5).becomes("a", "FAILED")
    tale.head = tale.snapshots[3].snapshot_id
    tale.moves.append(HeadMove(at=tale.now, snapshot_id=tale.head))
    return untold(clears_its_log(tale.expires("a", 4, 5), 1))


def published() -> Tale:
    """Main came to a branch's commit later than that was made, and from an ancestor of it."""
    tale = three().stages(None, 0).stages(None, 0)
    tale.snapshots[-1] = tale.snapshots[-1].model_copy(update={"parent_id": tale.snapshots[-2].snapshot_id})
    tale.head = tale.snapshots[-1].snapshot_id
    tale.moves.append(HeadMove(at=tale.now + timedelta(minutes=1), snapshot_id=tale.head))
    return untold(tale)


def rolled_back(*moves: int) -> Tale:
    """Five commits, and main moved to these."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).becomes("a", "FAILED")
    for checkpoint in moves:
        tale.rolls_back_to("a", checkpoint)
    return tale


def allows(most: int) -> Tale:
    """The table says how long the sink may be silent."""
    tale = untold(three())
    tale.properties["flink.max-continuous-empty-commits"] = str(most)
    return tale


def dynamic() -> Tale:
    """Such a sink never commits without files."""
    tale = three()
    source, sink = tale.runs["a"].vertices
    other = sink.model_copy(update={"name": DYNAMIC, "vertex_id": OperatorId("bb" * 16)})
    return run_changed(tale, vertices=(source, other))


SAVEPOINTS = {"kind": CheckpointKind.SAVEPOINT}
PAIRED, UNPAIRABLE, AHEAD = PairVerdict.PAIRED, PairVerdict.UNPAIRABLE, PairVerdict.AHEAD
VERDICTS: Mapping[str, tuple[Callable[[], Tale], tuple[int, ...], PairVerdict]] = {
    "something expired on another branch": (staged, (6,), PAIRED),
    "a sink that could not commit for long has all of it in its state": (three, (30, *range(5, 31)), AHEAD),
    "sequence numbers tell of lost commits that have expired": (lambda: set_back(*range(4, 8)), (8,), UNPAIRABLE),
    "also where it owes itself": (lambda: set_back(*range(4, 8)), (8, 8), UNPAIRABLE),
    "also when another run has gone on above": (
        lambda: set_back(*range(4, 8)).flink_runs("b", restored=3).commits("b", 4, 5), (8,), UNPAIRABLE,
    ),
    "nothing lies between a commit and what the next checkpoint owes": (
        lambda: set_back(*range(4, 8)), (4, 4), AHEAD,
    ),
    "an older record without the last number tells it by its log": (unnumbered, (8,), UNPAIRABLE),
    "so does a log without the line of the commit below": (back_to_backfill, (6,), UNPAIRABLE),
    "PyIceberg's log keeps the lines before what expired": (
        lambda: Tale().flink_runs("a").commits("a", *range(1, 10)).rolls_back_to("a", 2).expires("a", *range(4, 10)),
        (9,), UNPAIRABLE,
    ),
    "a branch that was published took nothing away": (published, (6,), PAIRED),
    "in format v1, what was lost and is listed is not gone": (lambda: untold(rolled_back(3)), (7,), PAIRED),
    "nor if main was set forward again": (lambda: untold(rolled_back(3, 5)), (7,), PAIRED),
    "a rolled-back commit that is listed": (lambda: rolled_back(3), (7,), PAIRED),
    "expiry of the oldest takes no restore point away": (
        lambda: Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).expires("a", 1, 2, 3), (6,), PAIRED,
    ),
    "far above the newest listed commit: even without files one between would have been committed": (
        lambda: set_back(*range(4, 19)), (20,), UNPAIRABLE,
    ),
    "far above, owing itself": (lambda: set_back(*range(4, 19)), (20, 20), UNPAIRABLE),
    "far above, owing two": (lambda: set_back(*range(4, 19)), (20, 19, 20), UNPAIRABLE),
    "ten without files in a row, and the newest may be on its way": (lambda: untold(three()), (14,), PAIRED),
    "eleven": (lambda: untold(three()), (15,), UNPAIRABLE),
    "the table may allow more": (lambda: allows(30), (20,), PAIRED),
    "eight, a failover, six more: the sink began again at nothing": (
        lambda: untold(three()).flink_runs("a", restored=11), (17,), PAIRED,
    ),
    "before a failover it is silent for no longer either": (
        lambda: untold(three()).flink_runs("a", restored=21), (25,), UNPAIRABLE,
    ),
    "where no number is missing the distance tells all the same: the catalog was set back": (three, (21,), UNPAIRABLE),
    "not where Flink has forgotten what may explain it: an application's cluster goes with its job": (
        lambda: three().forgets("a"), (90,), PAIRED,
    ),
    "but in format v1": (lambda: untold(three().forgets("a")), (90,), UNPAIRABLE),
    "one restore, at 19": (
        lambda: run_changed(three().flink_runs("a", restored=19), restored_count=1), (24,), UNPAIRABLE,
    ),
    "two restores, of which Flink tells the newest: after each the sink counts anew": (
        lambda: run_changed(three().flink_runs("a", restored=19), restored_count=2), (24,), PAIRED,
    ),
    "three failed checkpoints that Flink counts and lists no more": (
        lambda: run_changed(three(), failed_count=3), (24,), UNPAIRABLE,
    ),
    "twelve: its history holds ten": (lambda: run_changed(three(), failed_count=12), (24,), PAIRED),
    "thirty that failed below all that Flink lists as completed, without a commit": (
        lambda: run_changed(
            Tale().flink_runs("a").commits("a", 101, 102, 103).completes("a", *range(101, 124)), failed_count=30
        ),
        (124,), UNPAIRABLE,
    ),
    "a V1 sink is not notified of savepoints": (
        lambda: completed(Tale().flink_runs("a", v1=True).commits("a", 1, 2, 3), *range(8, 14), **SAVEPOINTS),
        (20,), PAIRED,
    ),
    "IcebergSink commits each by itself": (
        lambda: completed(three(), *range(8, 14), **SAVEPOINTS), (20,), UNPAIRABLE,
    ),
    "twelve failed and six passed without files": (
        lambda: completed(untold(three()), *range(4, 16), status="FAILED"), (21,), PAIRED,
    ),
    "a dynamic sink is silent for as long as no row comes": (dynamic, (90,), PAIRED),
}  # fmt: skip


@pytest.mark.parametrize(("tale", "point", "expected"), VERDICTS.values(), ids=VERDICTS)
def test_whether_a_restore_point_pairs(tale: Callable[[], Tale], point: tuple[int, ...], expected: PairVerdict) -> None:
    """`point`: the checkpoint of run a, and those that it owes."""
    assert verdict(tale(), *point) is expected


def test_sequence_numbers_tell_how_many_are_gone() -> None:
    """By the last one that the metadata keeps."""
    tale = set_back(*range(4, 8))

    assert gone_since(tale.table.by_id[tale.at("a", 3)], tale.table) == 4


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


def test_it_is_said_why() -> None:
    """With the ids and the setting that the rule stands on."""
    tale = untold(three())

    found = judged(stored(job_id("a"), 20, owes=()), tale.table, *tale.runs.values())

    assert "listed up to checkpoint 3, and of checkpoints 4 to 20" in found.reason
    assert "`flink.max-continuous-empty-commits`: 10" in found.reason
    assert found.reason.endswith("may have been lost and expired, or gone as the catalog was set back.")


def test_the_metadata_of_a_real_table_tells_its_last_number(orders: OrdersTable) -> None:
    """PyIceberg's rollback and expiry leave it as it was."""
    good, lost = write(orders, "a3[0:10] a4[10:20]").commits
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

"""What the ledger reads from manifests: ranges of time and position, specs and schemas, ids without a commit."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.evidence import Answer, Ask, Verdict
from bot.domain.findings import LedgerFinding
from bot.domain.flink import JobRun
from bot.domain.ids import SnapshotId
from bot.domain.ledger import Ledger, LedgerRow, Sink
from bot.domain.table import Column, Ref
from spark_tasks._commit_files import moment_of
from spark_tasks.ledger import COLUMNS
from tests.evidence.conftest import Asks
from tests.evidence.flink_words import V1, done, manifest, run
from tests.tables import CONTRACT, OrdersTable, unseen, with_fields

MIDNIGHT = datetime(2026, 11, 3, tzinfo=UTC)


def ledger_of(answer: Answer) -> Ledger:
    """The ledger that the answer carries."""
    assert isinstance(answer.finding, LedgerFinding)
    return answer.finding.ledger


def newest(answer: Answer) -> LedgerRow:
    """Its last commit."""
    return ledger_of(answer).rows[-1]


def marked(ask: Ask, *refs: Ref) -> Ask:
    """The same question of a table with these refs."""
    return _of_table(ask, refs=refs)


def with_deletes(ask: Ask, snapshot: SnapshotId, number: int) -> Ask:
    """The same question where that commit's summary counts so many delete files."""
    told = {"added-delete-files": str(number)}
    snapshots = ask.observation.table.snapshots
    changed = [
        s.model_copy(update={"summary": {**s.summary, **told}}) if s.snapshot_id == snapshot else s for s in snapshots
    ]
    return _of_table(ask, snapshots=tuple(changed))


def _of_table(ask: Ask, **changes: object) -> Ask:
    table = with_fields(ask.observation.table, **changes)
    return ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": table})})


@pytest.mark.parametrize("positions", [range(10, 25), range(-5, 3)])
def test_ranges_are_those_of_the_rows(orders: OrdersTable, asks: Asks, positions: range) -> None:
    """Bounds decoded from the manifests equal what the rows hold, below zero too; rows of before do not count."""
    before = orders.commits("a", 3, range(-99, 99))
    orders.commits("a", 4, positions)

    row = newest(asks("ledger", orders.ask(before)))

    assert (row.position_from, row.position_until) == (positions[0], positions[-1])
    assert row.event_from == MIDNIGHT + timedelta(seconds=positions[0])
    assert row.event_until == MIDNIGHT + timedelta(seconds=positions[-1])


def test_a_position_of_eight_bytes_is_read_to_its_ends(orders: OrdersTable, asks: Asks) -> None:
    """The smallest and the largest long."""
    before = orders.commits("a", 3, range(3))
    orders.commits("a", 4, range(2), orders=[-(2**63), 2**63 - 1])

    row = newest(asks("ledger", orders.ask(before, contract=CONTRACT.model_copy(update={"position": "order_id"}))))

    assert (row.position_from, row.position_until) == (-(2**63), 2**63 - 1)


def test_a_position_of_four_bytes_is_read_with_its_sign(orders: OrdersTable, asks: Asks) -> None:
    """An int column's bounds are four bytes; an int that became long keeps such bounds in its old files."""
    before = orders.commits("a", 3, range(3))
    orders.commits("a", 4, range(3), partition=-3)

    row = newest(
        asks("ledger", orders.ask(before, contract=CONTRACT.model_copy(update={"position": "source_partition"})))
    )

    assert (row.position_from, row.position_until) == (-3, -3)


@pytest.mark.parametrize("redacted", [("event_time", "source_position"), ()], ids=["redacted", "not promised"])
def test_no_range_is_told_of_a_column_that_is_hidden_or_unknown(
    orders: OrdersTable, asks: Asks, redacted: tuple[str, ...]
) -> None:
    """A redacted column's bounds are values too."""
    before = orders.commits("a", 3, range(3))
    orders.commits("a", 4, range(3, 6))
    promised = CONTRACT if redacted else CONTRACT.model_copy(update={"event_time": None, "position": "customer"})

    row = newest(asks("ledger", orders.ask(before, contract=promised.model_copy(update={"redacted": redacted}))))

    assert (row.event_from, row.event_until, row.position_from, row.position_until) == (None, None, None, None)


@pytest.mark.parametrize(
    ("kind", "bound", "moment"),
    [
        ("timestamptz", 1_000_001, datetime(1970, 1, 1, 0, 0, 1, 1, tzinfo=UTC)),
        ("timestamp_ns", 1_000_000_999, datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),
        ("date", -1, datetime(1969, 12, 31, tzinfo=UTC)),
        ("timestamp", 2**63 - 1, None),
        ("date", None, None),
    ],
)
def test_a_bound_becomes_a_moment_by_its_type(kind: str, bound: int | None, moment: datetime | None) -> None:
    """Microseconds, nanoseconds or days since 1970; what no calendar holds is left out."""
    assert moment_of(bound, Column(field_id=1, name="at", type=kind)) == moment


def test_sink_schema_spec_refs_and_delete_files_are_told(orders: OrdersTable, asks: Asks) -> None:
    """One row says who wrote it with which schema and partition spec, and which branches and tags point there."""
    before = orders.commits("a", 3, range(3))
    head = orders.commits("a", 4, range(3, 6))
    asked = with_deletes(orders.ask(before, jobs=[run("a", sink=V1)]), head, number=2)
    main = Ref(name="main", kind="branch", snapshot_id=head)

    answer = asks("ledger", marked(asked, main, Ref(name="waterline", kind="tag", snapshot_id=head)))

    row = newest(answer)
    cells = dict(zip(COLUMNS, answer.rows[-1], strict=True))
    assert (row.sink, row.schema_id, row.spec_ids, row.added_delete_files) == (Sink.FLINK_V1, 0, (0,), 2)
    assert (row.refs, cells["refs"]) == (("main", "waterline"), "waterline")
    assert (cells["writer"], cells["files"], cells["deletes"], cells["positions"]) == ("FlinkSink", "+1", "+2", "3–5")


def test_a_leaked_checkpoint_breaks_the_chain(orders: OrdersTable, asks: Asks) -> None:
    """One run, rising ids, and yet files that were never committed."""
    before = orders.commits("a", 3, range(3))
    orders.commits("a", 5, range(3, 6))

    answer = asks("ledger", orders.ask(before, jobs=[run("a")], flink_manifests=[manifest("a", 4)]))

    assert answer.verdict is Verdict.CONFIRMED
    assert answer.headline == (
        "1 commit in the window: 1 checkpoint whose Flink manifest was never committed (run aaaaaa: 4)."
    )
    assert dict(zip(COLUMNS, answer.rows[0], strict=True))["no commit before"] == "4 leaked"


def test_what_the_sink_refuses_after_the_last_commit_breaks_the_chain(orders: OrdersTable, asks: Asks) -> None:
    """A job that seems healthy and whose checkpoints never reach the table is named, though no commit shows it."""
    before = orders.commits("a", 10, range(3))
    flink = run("b", done(7), done(8), sink=V1, restored=6)

    answer = asks("ledger", orders.ask(before, jobs=[flink]))

    assert answer.verdict is Verdict.CONFIRMED
    assert answer.headline == (
        "No commit in the window: 2 checkpoints that the sink refused as already committed (run bbbbbb: 7–8)."
    )
    assert [each.words for each in ledger_of(answer).trailing] == ["7–8 skipped"]


@pytest.mark.parametrize("flink", [(), (run("a", sink=V1),)], ids=["any", "v1"])
def test_a_gap_is_not_ruled_out_while_the_manifests_cannot_be_listed(
    orders: OrdersTable, asks: Asks, flink: tuple[JobRun, ...]
) -> None:
    """An empty checkpoint, one that V1 committed with the next, and a leaked one look the same without storage."""
    before = orders.commits("a", 3, range(3))
    orders.commits("a", 5, range(3, 6))

    answer = asks("ledger", orders.ask(before, jobs=list(flink), flink_manifests=unseen("storage")))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert (
        "1 checkpoint without a commit (run aaaaaa: 4), and the Flink manifests could not be listed" in answer.headline
    )
    assert [missing.source for missing in answer.could_not_look] == ["storage"]

"""A table that was rewound, who read it, and what a notice knows of it."""

from datetime import datetime, timedelta

from bot.domain.contract import TableContract
from bot.domain.findings import DuplicatesFinding
from bot.domain.ids import SnapshotId
from bot.domain.ledger import Ledger
from bot.domain.looked import Seen
from bot.domain.reads import Consumer, FarRead, ReadRun
from bot.domain.table import HeadMove, TableState
from bot.notices import NoticeFacts, facts_for
from tests import orders_table as orders
from tests.incidents import Story
from tests.published import table_rewound

NOBODY_FAR: Seen[FarRead] = Seen(source="lineage events", values=())
REVENUE = Consumer(name="revenue_daily", channel="C0REVENUE1")
CONTRACT = orders.contract().model_copy(update={"event_time": "event_time"})
FOUND = DuplicatesFinding(rows_checked=900, keys=200, extra_rows=220, pairs=())
EIGHT = orders.NINE - timedelta(hours=1)


def minute_ledger(**changes: object) -> Ledger:
    """Each commit holds the events of one minute after eight; `changes` are of the last one."""
    rows = [
        row.model_copy(update={"event_from": at, "event_until": at + timedelta(seconds=59), "spec_ids": (1,)})
        for row, at in zip(orders.ledger().rows, _minutes(), strict=False)
    ]
    return Ledger(rows=(*rows[:-1], rows[-1].model_copy(update=changes)), readers_known=True)


def _minutes() -> list[datetime]:
    return [EIGHT + timedelta(minutes=number) for number in range(len(orders.COMMITS))]


def partitioned_by(table: TableState, *fields: str) -> TableState:
    """The table, partitioned so since its second spec."""
    return table.model_copy(update={"partitioning": fields, "specs": {0: (), 1: fields}})


def reads_of(*snapshots: int, run: str = "run-1") -> Seen[ReadRun]:
    """One run that read these snapshots."""
    found = [
        ReadRun(consumer="revenue_daily", run_id=run, at=orders.NINE, snapshot_id=SnapshotId(each))
        for each in snapshots
    ]
    return Seen(source="lineage events", values=tuple(found))


def rewound(story: Story, ledger: Ledger | None = None) -> Story:
    """Duplicates that were found, taken back and proven."""
    story.opens().answers(finding=FOUND).draws_the_ledger(ledger or minute_ledger())
    return story.diagnoses().proposes().approves().rewinds().verifies()


def facts_of(
    story: Story,
    *,
    reads: Seen[ReadRun] | None = None,
    table: TableState | None = None,
    contract: TableContract = CONTRACT,
    kind: str = "recovered",
) -> NoticeFacts:
    """What the daily revenue is told."""
    return facts_for(
        story.incident, REVENUE, table or partitioned_by(table_rewound(), "day(event_time)"),
        reads or reads_of(orders.HEAD), NOBODY_FAR,
        kind=kind, contract=contract, now=orders.NINE, next_update_minutes=30,
    )  # fmt: skip


def scattered(count: int) -> tuple[TableState, tuple[SnapshotId, ...]]:
    """Besides run B's commits so many that each stand alone on the good one."""
    table = orders.table_state()
    apart = tuple(SnapshotId(1000 + n) for n in range(count))
    made = [
        table.snapshots[-1].model_copy(
            update={"snapshot_id": each, "parent_id": orders.GOOD, "sequence_number": 20 + n}
        )
        for n, each in enumerate(apart)
    ]
    moves = [HeadMove(at=s.committed_at, snapshot_id=s.snapshot_id) for s in made]
    changes = {"snapshots": (*table.snapshots, *made), "head_moves": (*table.head_moves, *moves), "head": apart[-1]}
    return table.model_copy(update=changes), apart

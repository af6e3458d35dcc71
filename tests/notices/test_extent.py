"""What exactly was wrong: rows, keys, partitions, and from where each reader runs again.

A table that was rewound, who read it, and what a notice knows of it.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest

from bot.notices import NoticeFacts, NoticeTemplate, data_of, facts_for, render
from bot.notices.extent import ranges_of
from bot.observation.contract import HIDDEN, TableContract
from bot.observation.findings import CorrectedRowsFinding, DuplicatesFinding, GapsFinding, ReplayableFinding
from bot.observation.ids import SnapshotId
from bot.observation.ledger import Ledger, LedgerRow
from bot.observation.looked import Seen
from bot.observation.readers import Consumer, FarRead, ReadRun
from bot.observation.replay import ReplayRange
from bot.observation.table import HeadMove, PartitionField, Snapshot, TableState, TouchedPartitions
from tests import orders_table as orders
from tests.decisions import HEAD_AFTER
from tests.incidents import Story
from tests.published import MENDED, WRONG, publishes, table_published, table_rewound

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


def test_the_last_message_says_exactly_what_was_wrong(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """Snapshots, event times, partitions, keys, and from where to run again."""
    facts = facts_of(rewound(story))

    text = render(templates["recovered"], facts)

    assert "event times from 3 Nov 2026, 08:06:00 to 08:08:59 UTC." in text
    assert "Partitions: day(event_time) 2026-11-03." in text
    assert f"Snapshots: {', '.join(f'`{each}`' for each in WRONG)}." in text
    assert "200 keys (order_id) had more than one row." in text
    assert "Examples: 4711; 4712." in text
    assert f"drop what you read after snapshot `{orders.GOOD}`, and start again there" in text


def test_a_program_is_told_the_same(story: Story) -> None:
    """What it needs to run again by itself."""
    facts = facts_of(rewound(story), reads=reads_of(*WRONG))

    data = data_of(facts, "recovered")

    assert (data.rerun.needed, data.rerun.runs) == (True, ("run-1",))
    assert data.rerun.read_snapshots == WRONG
    assert (data.rerun.from_snapshot, data.rerun.resume_after) == (orders.GOOD, None)
    assert data.rerun.event_from == EIGHT + timedelta(minutes=6)
    assert data.rerun.event_until == EIGHT + timedelta(minutes=8, seconds=59)
    assert data.rerun.partitions == data.affected_partitions == ("day(event_time) 2026-11-03",)
    assert (data.keys_repeated, data.keys_changed, data.keys_gone) == (200, None, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"event_from": None, "event_until": None},
        {"removed_rows": 3},
        {"added_delete_files": 1},
    ],
    ids=["no bounds", "replaced rows", "deleted by key"],
)
def test_times_that_are_not_all_known_are_not_told_as_a_range_to_compute(
    story: Story, templates: Mapping[str, NoticeTemplate], changes: dict[str, object]
) -> None:
    """A range that is too small would leave wrong results standing."""
    facts = facts_of(rewound(story, minute_ledger(**changes)))

    text, data = render(templates["recovered"], facts), data_of(facts, "recovered")

    assert (data.rerun.event_from, data.rerun.event_until, data.affected_event_from) == (None, None, None)
    assert (data.rerun.partitions, data.affected_partitions) == ((), ())
    assert "not fully known for 1 commit" in text
    assert "Partitions by day(event_time): not known." in text
    assert "We do not know all event times of these rows" in text


def test_commits_that_came_after_the_ledger_leave_the_range_open(story: Story) -> None:
    """The job went on committing until it was stopped."""
    ledger = minute_ledger()
    facts = facts_of(rewound(story, ledger.model_copy(update={"rows": ledger.rows[:-1]})))

    assert (facts.affected.events_untold, facts.rerun.event_from) == (1, None)


def test_a_compaction_brings_no_rows(story: Story) -> None:
    """It copies old ones: neither its rows nor their times were wrong."""
    table = partitioned_by(table_rewound(), "day(event_time)")
    last = next(s for s in table.snapshots if s.snapshot_id == orders.HEAD)
    replaced = [s if s is not last else last.model_copy(update={"operation": "replace"}) for s in table.snapshots]
    early = {"event_from": EIGHT - timedelta(days=9)}

    facts = facts_of(
        rewound(story, minute_ledger(**early)), table=table.model_copy(update={"snapshots": tuple(replaced)})
    )

    assert (facts.affected.rows, facts.affected.events_untold) == (200, 0)
    assert facts.affected.event_from == EIGHT + timedelta(minutes=6)


def test_partitions_that_no_ledger_saw_are_not_guessed(story: Story) -> None:
    """Only those by time follow from the event times."""
    fields = ("hour(event_time)", "bucket[16](order_id)", "day(loaded_at)")

    facts = facts_of(rewound(story), table=partitioned_by(table_rewound(), *fields))

    assert facts.affected.partitions == ("hour(event_time) 2026-11-03-08",)
    assert facts.affected.partitions_untold == ("bucket[16](order_id)", "day(loaded_at)")


def test_a_table_without_partitions_says_nothing_of_them(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """Nobody asks for what is not there."""
    text = render(templates["recovered"], facts_of(rewound(story), table=partitioned_by(table_rewound())))

    assert "artition" not in text


def test_missing_rows_widen_what_is_computed_again(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """By the event times that their source gives; where it was not asked, nothing is said."""
    gaps = GapsFinding(lowest=1, highest=900, positions=890, missing=10, gaps=())
    story.opens().answers("missing_positions", finding=gaps).draws_the_ledger(minute_ledger())
    story.diagnoses().proposes().approves().rewinds().verifies()
    unknown, text = facts_of(story).rerun, render(templates["recovered"], facts_of(story))
    given = ReplayableFinding(
        bounds=ReplayRange(), missing=10, given=10, repeated=0, absent=10, elsewhere=0, not_given=0,
        event_from=EIGHT - timedelta(minutes=5), event_until=EIGHT, digest="0" * 64,
    )  # fmt: skip
    story.answers("replayable_rows", finding=given)

    known = facts_of(story).rerun

    assert (unknown.event_from, unknown.event_until) == (None, None)
    assert "Event times: from" in text
    assert "We do not know all event times of the missing rows." in text
    assert known.event_from == EIGHT - timedelta(minutes=5)
    assert known.event_until == EIGHT + timedelta(minutes=8, seconds=59)


def test_keys_that_the_contract_hides_are_not_shown(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """Also when they were not hidden yet as the evidence was collected; nothing is said of which they are."""
    hidden = CONTRACT.model_copy(update={"redacted": ("ORDER_ID",)})

    facts = facts_of(rewound(story), contract=hidden)

    text = render(templates["recovered"], facts)
    assert "4711" not in text
    assert "The keys are not shown, because the contract hides their values." in text


def test_of_a_key_of_several_columns_only_the_hidden_one_is_hidden(story: Story) -> None:
    """The rest still helps to find the row."""
    both = CONTRACT.model_copy(update={"key": ("customer", "order_id"), "redacted": ("customer",)})
    story.opens().answers(
        finding=FOUND, columns=("customer", "order_id", "live rows"), rows=(("ACME", "4711", "2"),)
    ).draws_the_ledger(minute_ledger())

    keys = facts_of(story, contract=both, table=orders.table_state()).damage.keys

    assert keys.sample == (f"customer {HIDDEN}, order_id 4711",)


def test_a_key_as_long_as_a_letter_is_cut(story: Story) -> None:
    """A notice stays within Slack's limits whatever is a key."""
    story.opens().answers(finding=FOUND, rows=(("x" * 3000, "2"),))

    keys = facts_of(story, table=orders.table_state()).damage.keys

    assert keys.sample == ("x" * 59 + "…",)


def test_changed_and_lost_keys_are_counted_too(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """With the columns in which they changed."""
    found = CorrectedRowsFinding(keys=12, gone=1, columns={"status": 3, "amount": 11})
    story.opens().answers("corrected_rows", finding=found, columns=("order_id", "what happened", "changed columns"))

    text = render(templates["update"], facts_of(story, kind="update", table=orders.table_state()))

    assert "12 keys have changed values." in text
    assert "1 earlier key is missing." in text
    assert "Columns with different values: amount, status." in text


def test_evidence_on_the_branch_of_a_rehearsal_is_not_what_consumers_had(story: Story) -> None:
    """It says nothing of main."""
    story.opens().answers(finding=FOUND, branch="recovery-wl-1")

    assert facts_of(story, table=orders.table_state()).damage.keys is None


def test_after_a_repair_on_top_nobody_is_sent_through_the_wrong_commits(
    story: Story, templates: Mapping[str, NoticeTemplate]
) -> None:
    """They are still in the history: an incremental read from the last good snapshot would bring their rows again."""
    publishes(story.opens().answers(finding=FOUND).draws_the_ledger(minute_ledger()))

    facts = facts_of(story, table=partitioned_by(table_published(), "day(event_time)"))

    assert (facts.rerun.needed, facts.rerun.from_snapshot, facts.rerun.resume_after) == (True, None, MENDED)
    assert f"from snapshot `{MENDED}`, and continue after it" in render(templates["recovered"], facts)


def test_a_rewind_below_what_was_trusted_sends_readers_there(story: Story) -> None:
    """What was trusted was taken back too: to read on from it would leave out what was written anew."""
    table = table_rewound()
    below = orders.COMMITS[4][1]
    first = next(s for s in table.snapshots if s.snapshot_id == HEAD_AFTER)
    moved = [s if s is not first else first.model_copy(update={"parent_id": below}) for s in table.snapshots]

    facts = facts_of(rewound(story), table=table.model_copy(update={"snapshots": tuple(moved)}))

    assert facts.rerun.from_snapshot == below


@pytest.mark.parametrize(
    ("reads", "needed"),
    [
        (reads_of(orders.HEAD), True),
        (reads_of(HEAD_AFTER), False),
        (Seen(source="lineage events", values=()), None),
        (orders.not_seen("lineage events"), None),
    ],
    ids=["read it", "read another", "no run known", "not seen"],
)
def test_nobody_is_told_that_they_need_not_run_who_was_not_seen(
    story: Story, templates: Mapping[str, NoticeTemplate], reads: Seen[ReadRun], needed: bool | None
) -> None:
    """Not seen is not known; and before the proof it is known of nobody."""
    story.opens().draws_the_ledger(minute_ledger())
    early = facts_of(story, reads=reads, table=orders.table_state(), kind="update").rerun
    story.diagnoses().proposes().approves().rewinds().verifies()

    facts = facts_of(story, reads=reads)

    assert (early.needed, early.from_snapshot) == (None, None)
    assert facts.rerun.needed is needed
    assert ("need not do anything" in render(templates["recovered"], facts)) is (needed is False)
    assert (facts.rerun.from_snapshot is None) is (needed is False)


def test_one_run_that_read_many_wrong_snapshots_is_one_run(
    story: Story, templates: Mapping[str, NoticeTemplate]
) -> None:
    """With all that it read, condensed."""
    text = render(templates["recovered"], facts_of(rewound(story), reads=reads_of(*WRONG)))

    assert (
        f"`run-1` at 3 Nov 2026, 09:00 UTC, from snapshots `{WRONG[0]}` to `{WRONG[-1]}` (3 consecutive commits)"
        in text
    )


def test_what_one_run_read_here_and_there_is_told_whole(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """Its line is short; below the runs stands all that they read."""
    story.opens().draws_the_ledger(minute_ledger())
    table, apart = scattered(6)

    text = render(templates["update"], facts_of(story, reads=reads_of(*apart), table=table, kind="update"))

    assert f"from snapshots {', '.join(f'`{each}`' for each in apart[:3])}, and 3 more\n" in text
    assert f"Together they read 6 snapshots of these: {', '.join(f'`{each}`' for each in apart)}." in text


def test_many_commits_are_told_as_ranges_and_none_is_left_out() -> None:
    """Also where the line forked: each commit is in exactly one range."""
    base = orders.snapshots()[0]

    def made(number: int, parent: int | None) -> Snapshot:
        ids = {"snapshot_id": SnapshotId(number), "parent_id": None if parent is None else SnapshotId(parent)}
        return base.model_copy(update=ids)

    line = [made(number, number - 1) for number in range(1, 40)]
    fork = [made(100, 20), made(101, 100)]

    found = ranges_of([*line[:25], *fork, *line[25:]])

    assert [(each.first, each.last, each.commits) for each in found] == [(1, 39, 39), (100, 101, 2)]


def test_what_does_not_fit_is_counted(templates: Mapping[str, NoticeTemplate], story: Story) -> None:
    """Never silently: how many more, and where they stand."""
    story.opens().draws_the_ledger(Ledger(rows=(), readers_known=True))

    facts = facts_of(story, table=scattered(30)[0], kind="update")

    assert len(facts.affected.snapshots) == 33
    assert sum(each.commits for each in facts.affected.ranges) == 33
    assert "and 19 more, which the incident's record names" in render(templates["update"], facts)


def _table(*fields: str, name: str = "p") -> TableState:
    typed = tuple(PartitionField(words=field, name=name, type="string") for field in fields)
    changes = {"partitioning": fields, "specs": {0: (), 1: fields}, "spec_fields": {0: (), 1: typed}}
    return table_rewound().model_copy(update=changes)


def _row(row: LedgerRow, partitions: Mapping[str, tuple[str, ...]], more: int = 0) -> LedgerRow:
    touched = tuple(TouchedPartitions(field=f, values=values, more=more) for f, values in partitions.items())
    return row.model_copy(
        update={
            "event_from": EIGHT,
            "event_until": EIGHT,
            "spec_ids": (1,),
            "partitions": touched,
        }
    )


def _facts(
    story: Story,
    table: TableState,
    *touched: Mapping[str, tuple[str, ...]],
    more: int = 0,
    contract: TableContract = CONTRACT,
    **last: object,
) -> NoticeFacts:
    """Of the three wrong commits; `last` are changes of the newest one's row."""
    rows = orders.ledger().rows
    wrong = [_row(row, each, more) for row, each in zip(rows[-len(touched) :], touched, strict=True)]
    wrong[-1] = wrong[-1].model_copy(update=last)
    ledger = Ledger(rows=(*rows[: -len(touched)], *wrong), readers_known=True)
    return facts_of(rewound(story, ledger), reads=reads_of(WRONG[-1]), table=table, contract=contract)


def test_partitions_of_every_kind_are_told(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """What the commits touched, united: numbers by their size, days in a row as a span."""
    fields = ("region", "bucket[16](order_id)", "day(event_time)")
    facts = _facts(
        story,
        _table(*fields),
        {"region": ("NA",), "bucket[16](order_id)": ("10", "2"), "day(event_time)": ("2026-11-01", "2026-11-02")},
        {"region": ("EU", "NA"), "bucket[16](order_id)": ("2",), "day(event_time)": ("2026-11-03",)},
        {"region": ("null",), "bucket[16](order_id)": ("0",), "day(event_time)": ("2026-11-09",)},
    )

    text, data = render(templates["recovered"], facts), data_of(facts, "recovered")

    told = (
        "region EU, NA, null",
        "bucket[16](order_id) 0, 2, 10",
        "day(event_time) 2026-11-01 to 2026-11-03, 2026-11-09",
    )
    assert data.affected_partitions == told
    assert data.rerun.partitions == told
    assert f"Partitions: {'; '.join(told)}." in text
    assert "is not known" not in text


def test_one_commit_that_nobody_looked_at_leaves_them_open(story: Story) -> None:
    """Half of the partitions would leave wrong results standing."""
    facts = _facts(story, _table("region"), {"region": ("EU",)}, {"region": ("EU",)}, {})

    assert (facts.affected.partitions, facts.affected.partitions_untold) == ((), ("region",))
    assert facts.rerun.partitions == ()


def test_rows_that_were_replaced_are_in_known_partitions(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """Their event times are not known, and the partitions of their files are."""
    days = {"day(event_time)": ("2026-11-03",)}

    facts = _facts(story, _table("day(event_time)"), days, days, days, removed_rows=3)

    assert (facts.affected.events_untold, facts.rerun.event_from) == (1, None)
    assert facts.rerun.partitions == ("day(event_time) 2026-11-03",)
    assert "• Run again for partitions day(event_time) 2026-11-03." in render(templates["recovered"], facts)


@pytest.mark.parametrize("redacted", ["customer", "p"], ids=["column", "field"])
def test_a_hidden_column_says_nothing(story: Story, templates: Mapping[str, NoticeTemplate], redacted: str) -> None:
    """Also where the ledger was collected before it was hidden; whoever runs again is not sent by it."""
    hides = CONTRACT.model_copy(update={"redacted": (redacted,)})
    acme = {"truncate[4](customer)": ("ACME",)}

    facts = _facts(story, _table("truncate[4](customer)"), acme, acme, acme, contract=hides)

    text = render(templates["recovered"], facts)
    assert f"truncate[4](customer) {HIDDEN}" in text
    assert "ACME" not in text + data_of(facts, "recovered").model_dump_json()
    assert facts.rerun.partitions == ()


@pytest.mark.parametrize(("more", "end"), [(0, "r18, r19 and 40 more"), (5, "r18, r19 and at least 45 more")])
def test_more_than_fit_are_counted(story: Story, more: int, end: str) -> None:
    """Those that are not shown, and those that the ledger has only counted."""
    places = [{"region": tuple(f"r{n:02}" for n in range(20 * k, 20 * k + 20))} for k in range(3)]

    affected = _facts(story, _table("region"), *places, more=more).affected

    assert affected.partitions[0].endswith(end)


def test_many_hours_are_told_by_the_event_times(story: Story) -> None:
    """A list that ends somewhere says less than the span."""
    hours = {"hour(event_time)": ("2026-11-03-08",)}

    facts = _facts(story, _table("hour(event_time)"), hours, hours, hours, more=9)

    assert facts.affected.partitions == ("hour(event_time) 2026-11-03-08",)


def test_what_partitions_nothing_is_not_told(story: Story) -> None:
    """A field that was dropped."""
    facts = _facts(story, _table("void(region)"), {}, {}, {})

    assert (facts.affected.partitions, facts.affected.partitions_untold) == ((), ())

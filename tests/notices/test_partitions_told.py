"""In which partitions wrong rows lie, as their manifests name them: united, hidden, counted, and never half."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from bot.domain.contract import HIDDEN, TableContract
from bot.domain.findings import DuplicatesFinding
from bot.domain.ledger import Ledger, LedgerRow
from bot.domain.looked import Seen
from bot.domain.reads import Consumer, FarRead, ReadRun
from bot.domain.table import PartitionField, TableState, TouchedPartitions
from bot.notices import NoticeFacts, NoticeTemplate, data_of, facts_for, render
from tests import orders_table as orders
from tests.incidents import Story
from tests.published import WRONG, table_rewound

FOUND = DuplicatesFinding(rows_checked=900, keys=200, extra_rows=220, pairs=())
CONTRACT = orders.contract().model_copy(update={"event_time": "event_time"})
EIGHT = orders.NINE - timedelta(hours=1)


def _table(*fields: str, name: str = "p") -> TableState:
    typed = tuple(PartitionField(words=field, name=name, type="string") for field in fields)
    changes = {"partitioning": fields, "specs": {0: (), 1: fields}, "spec_fields": {0: (), 1: typed}}
    return table_rewound().model_copy(update=changes)


def _row(row: LedgerRow, partitions: Mapping[str, tuple[str, ...]], more: int = 0) -> LedgerRow:
    touched = tuple(TouchedPartitions(field=f, values=values, more=more) for f, values in partitions.items())
    return row.model_copy(update={"event_from": EIGHT, "event_until": EIGHT, "spec_ids": (1,), "partitions": touched})


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
    story.opens().answers(finding=FOUND).draws_the_ledger(ledger)
    story.diagnoses().proposes().approves().rewinds().verifies()
    read = ReadRun(consumer="revenue_daily", run_id="run-1", at=orders.NINE, snapshot_id=WRONG[-1])
    far: Seen[FarRead] = Seen(source="lineage events", values=())
    return facts_for(
        story.incident, Consumer(name="revenue_daily", channel="C0REVENUE1"), table,
        Seen(source="lineage events", values=(read,)), far,
        kind="recovered", contract=contract, now=orders.NINE, next_update_minutes=30,
    )  # fmt: skip


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
    assert data.rerun is not None
    assert data.rerun.partitions == told
    assert f"Partitions: {'; '.join(told)}." in text
    assert "is not known" not in text


def test_one_commit_that_nobody_looked_at_leaves_them_open(story: Story) -> None:
    """Half of the partitions would leave wrong results standing."""
    facts = _facts(story, _table("region"), {"region": ("EU",)}, {"region": ("EU",)}, {})

    assert facts.affected is not None
    assert (facts.affected.partitions, facts.affected.partitions_untold) == ((), ("region",))
    assert facts.rerun.partitions == ()


def test_rows_that_were_replaced_are_in_known_partitions(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """Their event times are not known, and the partitions of their files are."""
    days = {"day(event_time)": ("2026-11-03",)}

    facts = _facts(story, _table("day(event_time)"), days, days, days, removed_rows=3)

    assert facts.affected is not None
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

    assert affected is not None
    assert affected.partitions[0].endswith(end)


def test_many_hours_are_told_by_the_event_times(story: Story) -> None:
    """A list that ends somewhere says less than the span."""
    hours = {"hour(event_time)": ("2026-11-03-08",)}

    facts = _facts(story, _table("hour(event_time)"), hours, hours, hours, more=9)

    assert facts.affected is not None
    assert facts.affected.partitions == ("hour(event_time) 2026-11-03-08",)


def test_what_partitions_nothing_is_not_told(story: Story) -> None:
    """A field that was dropped."""
    facts = _facts(story, _table("void(region)"), {}, {}, {})

    assert facts.affected is not None
    assert (facts.affected.partitions, facts.affected.partitions_untold) == ((), ())

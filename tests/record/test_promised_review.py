"""What the contract promises is held against the incident: columns, settings, retention, agreement."""

from datetime import timedelta

import pytest

from bot.domain.approval import ApprovalPolicy
from bot.domain.contract import ContractColumn
from bot.domain.findings import SchemaDriftFinding
from bot.domain.looked import Seen
from bot.domain.review import charged
from bot.domain.setup import TableSetup
from tests import orders_table as orders
from tests.decisions import ANA
from tests.incidents import Story
from tests.record.promised_terms import (
    FRESH,
    KEPT,
    LATE,
    MINUTE,
    SETTINGS,
    agreed,
    expired,
    fresh,
    late,
    terms,
    with_table,
)


@pytest.mark.parametrize(
    ("promised", "holds"), [("long", True), ("uuid", False), (None, True)], ids=["as promised", "another", "any"]
)
def test_promised_columns_are_in_the_review(story: Story, promised: str | None, holds: bool) -> None:
    """By name and type."""
    column = ContractColumn(name="order_id", type=promised)

    assert terms(story.opens(), columns=(column,))["The table has every promised column."].holds is holds


def test_a_required_column_is_held_against_what_evidence_saw(story: Story) -> None:
    """The table refuses null, or lets it be, or the job was seen to leave it null."""
    columns = (ContractColumn(name="order_id", required=True), ContractColumn(name="pos"))
    strict = tuple(c.model_copy(update={"is_required": True}) for c in orders.table_state().columns)
    story.opens()

    refused = terms(story, with_table(columns=strict), columns=columns)["Never null: order_id."]
    unknown = terms(story, columns=columns)["Never null: order_id."]
    drift = SchemaDriftFinding(differences=(), all_null=("order_id",), added_at=None)
    story.answers("schema_drift", headline="One column is null.", finding=drift)
    empty = terms(story, columns=columns)["Never null: order_id."]

    assert (refused.holds, unknown.holds, empty.holds) == (True, None, False)
    assert "no evidence counts nulls" in unknown.observed


def test_the_jobs_settings_are_in_the_review(story: Story) -> None:
    """Mode, interval, and whether state outlives a run; promised figures only where they are promised."""
    run = orders.run_b(settings=SETTINGS, checkpoint_interval_ms=60_000)
    world = orders.observation(jobs=Seen(source="Flink REST", values=(run,)))
    story.opens()

    kept = terms(story, world, checkpoint_every=MINUTE)
    slower = terms(story, world, checkpoint_every=MINUTE / 2)

    assert kept["State outlives a run that is cancelled."].holds is True
    assert kept["Checkpoints are exactly-once."].holds is True
    assert kept["A checkpoint every 1 min."].holds is True
    assert slower["A checkpoint every 30 s."].holds is False
    assert not any(term.startswith("A checkpoint every") for term in terms(story, world))


def test_promises_that_contradict_each_other_are_in_the_review(story: Story) -> None:
    """Whatever was observed."""
    found = terms(story.opens(), checkpoint_every=10 * MINUTE)

    assert found["commit_every can be kept with checkpoint_every."].holds is False


def test_a_restore_point_that_outlived_its_snapshot_is_told(story: Story) -> None:
    """Savepoint 6 was written before the oldest commit that is still listed, and nothing listed pairs with it."""
    old = orders.savepoint(orders.SAVEPOINT_6, 6).model_copy(update={"written_at": orders.NINE - 14 * MINUTE})
    older = orders.savepoint(orders.SAVEPOINT_6, 4).model_copy(update={"written_at": orders.NINE - 16 * MINUTE})
    stored = {"checkpoints": Seen(source="folder", values=(old, orders.savepoint()))}
    from_the_start = {"checkpoints": Seen(source="folder", values=(older, old, orders.savepoint()))}
    story.opens()

    whole = terms(story, orders.observation().model_copy(update=from_the_start))[KEPT]
    cut = terms(story, expired().model_copy(update=stored))[KEPT]

    assert (whole.holds, cut.holds) == (True, False)
    assert "1 of 2 restore points is older than the oldest listed commit" in cut.observed


def test_a_kept_snapshot_pairs_though_it_left_main(story: Story) -> None:
    """A tag keeps what expiry took from main: its restore point is of use."""
    old = orders.savepoint(orders.SAVEPOINT_6, 6).model_copy(update={"written_at": orders.NINE - 14 * MINUTE})
    first, tagged, *rest = orders.snapshots()
    world = with_table(snapshots=(tagged, *rest[1:]))
    stored = {"checkpoints": Seen(source="folder", values=(old,))}

    assert first.checkpoint_id == 5
    assert terms(story.opens(), world.model_copy(update=stored))[KEPT].holds is True


@pytest.mark.parametrize(("promised", "holds"), [(timedelta(days=5), False), (5 * MINUTE, True)])
def test_expired_snapshots_break_the_promised_retention(story: Story, promised: timedelta, holds: bool) -> None:
    """The oldest listed commit is 13 minutes old."""
    found = terms(story.opens(), expired(), keep_snapshots=promised)

    [kept] = [each for term, each in found.items() if term.startswith("Snapshots stay readable")]
    assert kept.holds is holds


def test_what_broke_during_the_incident_stays_broken(story: Story) -> None:
    """The job was at-least-once then, and is exactly-once at the review: both are told, with what to do."""
    run = orders.run_b(settings=SETTINGS)
    world = orders.observation(jobs=Seen(source="Flink REST", values=(run,)))
    agreed(story.opens(), "Checkpoints are exactly-once.", False)

    found = terms(story, world)["Checkpoints are exactly-once."]

    assert (found.holds, found.action) == (False, "Mend it.")
    assert "It was looked at. At the review: Run b92e04" in found.observed


def test_what_was_seen_to_hold_is_told_when_the_source_is_down_later(story: Story) -> None:
    """As far as anybody looked; what was never looked at stays open."""
    world = orders.observation(jobs=orders.not_seen("Flink REST"))
    agreed(story.opens(), "Checkpoints are exactly-once.", True)

    found = terms(story, world)

    assert found["Checkpoints are exactly-once."].holds is True
    assert "At the review: Could not look" in found["Checkpoints are exactly-once."].observed
    assert found["State outlives a run that is cancelled."].holds is None


def test_each_broken_promise_has_an_owner_and_a_day(story: Story) -> None:
    """As the other terms have: by configuration, else the responder."""
    setup = TableSetup(
        name=orders.TABLE, job=orders.JOB, contract=orders.contract(), consumers=(),
        policies={"default": ApprovalPolicy(users=(ANA,))}, next_update_minutes=30,
    )  # fmt: skip
    fresh(late(story.opens(), 900), 1200)
    found = terms(story, expired(), freshness=15 * MINUTE, late_after=5 * MINUTE, keep_snapshots=timedelta(days=5))

    owned = {each.term: each for each in charged(found.values(), story.incident, setup, at=story.now)}

    for term in (FRESH, LATE, "Snapshots stay readable for 5 d."):
        assert (owned[term].owner, owned[term].due) == (ANA, story.now + setup.review_due)

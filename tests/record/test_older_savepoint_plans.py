"""A planned savepoint that an older version proposed keeps its digest: approvals of it stay approvals."""

from datetime import UTC, datetime

from bot.domain.effects import KeepSavepoint
from bot.domain.ids import JobId, SnapshotId, TableName
from bot.domain.savepoint_entries import SavepointPlanned

_OF_OLD = (
    '{"kind":"keep-savepoint","table":"sales.orders","job":"orders-to-iceberg","job_id":"5ca1ab1e","tagged":"20261121",'
    '"plan":{"kind":"savepoint-planned","reason":"New pricing.","code_before":"1.4","code_after":"1.5","head":7,'
    '"told":[],"may_restore":[],"until":"2026-11-21T00:00:00Z","keeps":""}}'
)


def test_a_plan_without_an_end_is_dumped_as_it_was() -> None:
    """The digest is over the dump."""
    effect = KeepSavepoint.model_validate_json(_OF_OLD)

    assert effect.model_dump_json() == _OF_OLD


def test_an_end_that_was_said_is_part_of_it() -> None:
    """A yes to one end is no yes to another."""
    plan = SavepointPlanned(
        reason="New pricing.", code_before="1.4", code_after="1.5", head=SnapshotId(7), told=(), may_restore=(),
        until=datetime(2026, 11, 21, tzinfo=UTC), over_by=datetime(2026, 11, 20, tzinfo=UTC),
    )  # fmt: skip
    effect = KeepSavepoint(
        table=TableName("sales.orders"), job="orders-to-iceberg", job_id=JobId("5ca1ab1e"), tagged="20261121", plan=plan
    )

    assert '"over_by":"2026-11-20T00:00:00Z"' in effect.model_dump_json()

"""The ledger in the exported record: its picture, what wrote each commit, and what was not committed."""

import re
from datetime import timedelta

import pytest

from bot.domain.entries import NoticeEnded
from bot.domain.flink import CheckpointKind
from bot.domain.ids import CheckpointId
from bot.domain.ledger import Ledger, SkippedCheckpoint, SkipReason
from bot.service.record import Records
from tests import orders_table as orders
from tests.incidents import Story
from tests.record.exported import FORMATS, written


def test_the_picture_draws_the_waterline_between_good_and_wrong(story: Story, records: Records) -> None:
    """Nine marks in two lanes; the three of run B are hollow once they were taken back, and above the line."""
    story.opens().draws_the_ledger()
    before = records.html(story.incident)
    story.proposes().approves().rewinds().verifies()

    after = records.html(story.incident)

    shapes = re.findall(r'<polygon class="lane-(\d)( hollow)?" points="[\d.]+,([\d.]+)', after)[::-1]
    [line] = re.findall(r'class="waterline"[^>]* y1="([\d.]+)"', after)
    assert [lane for lane, _, _ in shapes] == ["0"] * 6 + ["1"] * 3
    assert [bool(hollow) for _, hollow, _ in shapes] == [False] * 6 + [True] * 3
    assert [float(y) < float(line) for _, _, y in shapes] == [False] * 6 + [True] * 3
    assert " hollow" not in before
    assert "waterline at opening …377421" in after
    assert "waterline …377421" in before


@pytest.mark.parametrize("form", FORMATS)
def test_checkpoints_without_a_commit_are_told_with_their_reason(story: Story, records: Records, form: str) -> None:
    """Those between two commits beside the later one, those after the last by themselves."""
    told = orders.ledger()
    leaked = SkippedCheckpoint(
        first=CheckpointId(6), last=CheckpointId(7), reason=SkipReason.LEAKED, detail="its manifest is there",
        job_id=orders.RUN_B,
    )  # fmt: skip
    refused = leaked.model_copy(update={"first": 12, "last": 12, "reason": SkipReason.SKIPPED})
    rows = (*told.rows[:-1], told.rows[-1].model_copy(update={"skipped": (leaked,)}))

    story.opens().draws_the_ledger(Ledger(rows=rows, readers_known=True, trailing=(refused,)))
    text = written(records, story, form)

    assert "6–7 leaked" in text
    assert re.search(r"b92e04.*12.*skipped.*its manifest is there", text)


@pytest.mark.parametrize("form", FORMATS)
def test_the_ledger_says_by_what_each_commit_was_written(story: Story, records: Records, form: str) -> None:
    """Attempt, subtasks, operator, delete files, positions, schema, spec, code and parent, in every format."""
    told = orders.ledger()
    row = told.rows[-1].model_copy(
        update={
            "attempts": (3, 4), "subtasks": (5, 6), "added_delete_files": 17, "position_from": 1200,
            "position_until": 1299, "schema_id": 31, "spec_ids": (41,), "code_version": "5e7c0de",
            "operation": "overwrite", "checkpoint_kind": CheckpointKind.SAVEPOINT,
        }
    )  # fmt: skip

    story.opens().draws_the_ledger(told.model_copy(update={"rows": (*told.rows[:-1], row)}))
    text = written(records, story, form)

    [line] = [line for line in text.splitlines() if f"{orders.HEAD}" in line and "5e7c0de" in line]
    for said in (
        "3, 4", "5, 6", orders.OPERATOR, "+17", "1200–1299", "31", "41", str(row.parent_id), "overwrite", "savepoint",
    ):  # fmt: skip
        assert said in line, said


@pytest.mark.parametrize("form", FORMATS)
def test_readers_that_nobody_could_ask_for_are_unknown(story: Story, records: Records, form: str) -> None:
    """Not nobody: in the row itself."""
    story.opens().draws_the_ledger(orders.ledger(readers_known=False))

    lines = [each for each in written(records, story, form).splitlines() if "+100" in each]
    assert len(orders.COMMITS) == sum("unknown" in line for line in lines)


@pytest.mark.parametrize("form", FORMATS)
def test_times_of_the_record_carry_their_day_where_not_all_are_of_one(
    story: Story, records: Records, form: str
) -> None:
    """A commit of last night, and word that arrived on another day than it was queued."""
    told = orders.ledger()
    night = told.rows[0].model_copy(update={"committed_at": orders.NINE - timedelta(hours=10)})

    story.opens().draws_the_ledger(told)
    before = written(records, story, form)
    story.draws_the_ledger(told.model_copy(update={"rows": (night, *told.rows[1:])}))
    story.notifies()
    story.now += timedelta(days=1)
    queued = next(reversed(story.incident.notices.values()))
    story.says(NoticeEnded.model_validate({"key": queued.notice.key(story.id), "how": "delivered", "detail": "again"}))
    after = written(records, story, form)

    assert "2026-11-02" not in before
    assert "2026-11-02 23:00:00" in after
    assert "2026-11-03 08:50:00" in after
    assert re.search(r"delivered at 4 Nov, [\d:]+ UTC \(again\)", after)

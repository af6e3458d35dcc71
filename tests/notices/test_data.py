"""What a program is told: exact ids, also out of records that were written before."""

import json

from bot.domain.entries import NoticeQueued
from bot.domain.notice import Notice, NoticeData
from tests import orders_table as orders
from tests.decisions import CHANNEL
from tests.incidents import Story


def test_snapshot_ids_are_written_as_text_and_read_as_before() -> None:
    """A JSON number above 2^53 is rounded by JavaScript; records of earlier versions hold such numbers."""
    data = NoticeData(stage="proven", affected_snapshots=(orders.HEAD,), trusted_snapshot=orders.GOOD)

    written = json.loads(data.model_dump_json())

    assert ([str(orders.HEAD)], str(orders.GOOD)) == (written["affected_snapshots"], written["trusted_snapshot"])
    assert data == NoticeData.model_validate_json(json.dumps(written))
    assert data == NoticeData.model_validate_json(
        json.dumps({**written, "affected_snapshots": [orders.HEAD], "trusted_snapshot": orders.GOOD})
    )


def test_a_notice_keeps_its_ids_through_the_journal(story: Story) -> None:
    """What is sent later is read from there."""
    data = NoticeData(stage="proven", affected_snapshots=(orders.HEAD,))
    notice = Notice(kind="update", revision=1, consumer="revenue_daily", channel=CHANNEL, text="*A*", data=data)

    story.opens().says(NoticeQueued(notice=notice))

    [view] = story.incident.notices.values()
    assert notice == view.notice

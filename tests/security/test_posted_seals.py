"""The bot posts the record's seal at milestones, and reads back only what it posted itself."""

import sqlite3
from contextlib import closing

from slack_sdk import WebClient

from bot.domain.ids import IncidentId
from bot.domain.posted_seals import faults_of, missing_in, not_looked
from bot.domain.seal import seal_of
from bot.slack.seals import posted_seals
from bot.workspace import Workspace
from tests.slack.little_bot import LittleBot, nothing_waits
from tests.slack.people import Responder, eventually


def test_seals_are_posted_at_opening_and_close_and_fit_the_record(
    ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Each stands in the incident's thread once, a restart posts none again, and what people post counts nothing."""
    card = ana.opens()
    ana.says(f"wl-1/1/{'0' * 64}", thread_ts=card.ts)
    ana.asks("close It was planned.")
    ana.sees("Seal of the record up to entry 1:")
    bot.restart()
    ana.sees("is closed")
    record = bot.services.store.get(bot.services.store.all()[0].id).entries
    ana.sees(str(seal_of(record[-1])))

    found = posted_seals(WebClient(slack.bot_token, base_url=slack.api_url))

    assert [seal.seq for seal in found.seals] == [1, record[-1].seq]
    told = {record[0].incident_id: record}
    assert (faults_of(found, told), missing_in(found, told), not_looked(found, told)) == ([], [], [])


def test_no_row_of_the_database_has_the_bot_edit_a_seal_unseen(
    ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """It edits none under its own name; under another one the edit leaves its mark, and the seal its name."""
    ana.opens()
    ana.sees("Seal of the record up to entry 1:")
    ana.asks("close It was planned.")
    ana.sees("is closed")
    eventually(lambda: nothing_waits(bot))
    client = WebClient(slack.bot_token, base_url=slack.api_url)
    end = bot.services.store.get(IncidentId("wl-1")).entries[-1].seq
    bot.close()
    with closing(sqlite3.connect(bot.folder / "journal.db", isolation_level=None)) as db:
        [seal] = db.execute("SELECT ts FROM outbox WHERE key = ?", [f"wl-1/seal/{end}"]).fetchone()
        db.execute("UPDATE outbox SET ts = ? WHERE key = 'wl-1/line/2'", [seal])
        db.execute("UPDATE outbox SET wanted = wanted + 1, state = 'queued' WHERE key LIKE 'wl-1/%'")
    bot.start()
    eventually(lambda: nothing_waits(bot))

    found = posted_seals(client)

    record = bot.services.store.get(IncidentId("wl-1")).entries
    assert [(each.seq, each.is_edited) for each in found.seals] == [(1, False), (end, True)]
    [fault] = faults_of(found, {IncidentId("wl-1"): record})
    assert (fault.seq, "edited after it was posted" in fault.sentence) == (end, True)

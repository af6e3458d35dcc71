"""What quotes a secret is worked on like anything else: only the secret is gone."""

import json
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.ids import IncidentId
from bot.domain.masking import MASK, Masking
from bot.ports import Delivery
from bot.slack.requests import Command, parse
from tests.orders_table import NINE
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually

MARK = "M4rk3dS3cr3t"
KEY = "-----BEGIN RSA PRIVATE KEY-----"


@pytest.mark.parametrize("said", ["the sink says: ", "die Senke sagt für uns · "])
@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (f'uses "jdbc:x://h/o?password={MARK}", rows', f'uses "jdbc:x://h/o?password={MASK}", rows'),
        (f'at "s3.secret-access-key={MARK}"', f'at "s3.secret-access-key={MASK}"'),
        (f'see "https://h/x?sig={MARK}"', f'see "https://h/x?sig={MASK}"'),
        (f"expected {KEY} at line 1", f"expected {MASK}"),
        ("C:\\tmp\nAKIAM4RKM4RKM4RKM4RK\\n", f"C:\\tmp\n{MASK}\\n"),
    ],
)  # fmt: skip
def test_a_delivery_that_quotes_a_secret_stays_what_was_asked(tmp_path: Path, said: str, typed: str, kept: str) -> None:
    """The mask ends where the field ends, whatever signs JSON needs for what stands in it."""
    store = open_store(f"sqlite:///{tmp_path}/journal.db", Masking())
    body = {
        "command": "/waterline", "text": said + typed, "user_id": "U1", "channel_id": "C1", "trigger_id": "1.2",
        "token": MARK, "response_url": f"https://hooks.slack.com/{MARK}",
    }  # fmt: skip
    store.inbox.put(Delivery(key="typed", kind="command", payload=json.dumps(body), received_at=NINE))

    delivery = store.inbox.claim(NINE)

    assert delivery is not None
    request = parse(delivery)
    assert isinstance(request, Command)
    assert request.text == (said + kept).strip()
    assert (json.loads(delivery.payload)["token"], json.loads(delivery.payload)["response_url"]) == (MASK, MASK)
    store.close()


def test_a_note_that_quotes_a_secret_is_noted_and_answered(ana: Responder, bot: LittleBot) -> None:
    """In the whole bot, over Slack."""
    ana.opens()

    ana.types(f'/waterline note it uses "jdbc:postgresql://h/o?user=x;password={MARK}", that is staging')

    eventually(lambda: any(entry.body.kind == "note-added" for entry in entries(bot)))
    [note] = [entry.body.text for entry in entries(bot) if entry.body.kind == "note-added"]
    assert f'password={MASK}", that is staging' in note


def entries(bot: LittleBot):  # type: ignore[no-untyped-def]
    """What stands in the record of the incident."""
    return bot.services.store.get(IncidentId("wl-1")).entries

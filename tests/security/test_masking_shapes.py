"""Credentials of addresses and headers are masked though nobody knows them, and words of people are not."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bot.adapters.journal_sql import open_store
from bot.domain.ids import IncidentId
from bot.domain.masking import _SHAPES, MASK, Masking
from bot.ports import Delivery
from bot.slack.requests import Command, parse
from tests.orders_table import NINE
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually


@pytest.mark.parametrize(
    "text",
    [
        "The basic aggregates are wrong since noon.",
        "Basic understanding: see the runbook.",
        "basic configuration",
        "Its signature: unknown.",
    ],
)
def test_words_that_people_write_are_recorded_as_they_wrote_them(text: str) -> None:
    """`basic` is an English word as well, whatever follows it."""
    assert Masking().text(text) == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("GET https://b.s3/x?X-Amz-Security-Token=FwoGZXIvYXdzEAo%2F&y=1", "FwoGZXIvYXdz"),
        ("https://b.s3/x?X-Amz-Credential=minio-root%2F20261123%2Feu&X-Amz-Date=20261123", "minio-root"),
        ("https://b.s3/x?x-amz-signature=0123456789abcdef", "0123456789abcdef"),
        ("https://storage.googleapis.com/b/x?X-Goog-Signature=89abcdef0123&X-Goog-Date=1", "89abcdef0123"),
        ("https://b.s3/x?AWSAccessKeyId=minio&Signature=vjbyPxybdZaNmGa&Expires=1", "vjbyPxybdZaNmGa"),
        ("https://a.blob.core.windows.net/c/x?sv=2024-11-04&sig=Zm9vYmFyYmF6%3D", "Zm9vYmFyYmF6"),
        ("AccountName=lake;AccountKey=Zm9vYmFyYmF6cXV4==;EndpointSuffix=x", "Zm9vYmFyYmF6"),
        ('{"X-Amz-Security-Token": "FwoGZXIvYXdzEAo"}', "FwoGZXIvYXdz"),
        ("Authorization: Basic notbase64atall", "notbase64atall"),
        ('{"Authorization": "Basic aggregates"}', "aggregates"),
        ("curl said: basic dXNlcjpwYXNzd29yZA== was refused", "dXNlcjpwYXNz"),
        ("The answer to Basic dXNlcjpwYXNz.", "dXNlcjpwYXNz"),
        ("Basic dXNlcjpow6k_w6k-", "dXNlcjpow6k"),
    ],
)
def test_no_credential_of_an_address_or_a_header_stays(text: str, secret: str) -> None:
    """Of S3, GCS and Azure, and of the header; what stands around it stays."""
    masked = Masking().text(text)

    assert secret not in masked
    assert MASK in masked
    assert masked.split(MASK)[0] in text


PIECES = [
    *("xoxb-", "xoxe.xoxp-", "xapp-", "AKIA", "ASIA", "ABCDEFGH12345678", "eyJ", "abcdefghi.", "ghp_", "ghs_"),
    *(
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "://",
        "user",
        ":",
        "pw",
        "@",
        "Bearer ",
        "basic\t",
        "Authorization: ",
        "dXNlcjpwYXNz",
    ),
    *(
        "PassWord",
        "passwd",
        "Secret_Key",
        "secretAccessKey",
        "client.secret",
        "access-token",
        "Session_Token",
        "API_key",
    ),
    *(
        "sig",
        "X-Amz-Signature",
        "X-Goog-Credential",
        "?Signature",
        "'",
        '"',
        "=",
        ": ",
        " ",
        "\n",
        "{",
        "&",
        "abcdefghij0123456789ab",
        "ſ",
        "ı",
        "é",
    ),
]


@given(pieces=some.lists(some.sampled_from(PIECES), max_size=9))
def test_what_has_the_shape_of_a_secret_is_masked_as_without_the_quick_look(pieces: list[str]) -> None:
    """Its cue is there wherever the pattern is in either case of letters; other alphabets are not trusted to it."""
    text = "".join(pieces)

    masked = Masking().text(text)

    searched = text
    for shape in _SHAPES:
        searched = shape.pattern.sub(shape.instead, searched)
    assert masked == searched


@pytest.mark.parametrize("letter", ["ſ", "é"])
def test_letters_that_count_as_ours_hide_no_secret(letter: str) -> None:
    """The long s is an s to a search that looks past case, and not to `lower`."""
    masked = Masking().text(f"{letter}ig paſſword=hunter22")

    assert "hunter22" not in masked


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

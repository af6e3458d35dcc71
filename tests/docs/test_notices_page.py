"""What is documented of notices is what is sent."""

import json
from pathlib import Path

from bot.adapters.webhook import NoticePayload
from bot.notices import scan
from bot.notices.reference import BEGIN, reference

ROOT = Path(__file__).parents[2]


def test_the_page_shows_each_notice_as_it_is_rendered() -> None:
    """`python -m bot.notices.reference` writes it anew."""
    page = (ROOT / "docs" / "notices.md").read_text(encoding="utf-8")

    assert BEGIN + page.split(BEGIN)[1] == reference(scan(ROOT / "messages"))


def test_every_fact_is_documented() -> None:
    """A template's author finds each variable with what it means."""
    text = reference(scan(ROOT / "messages"))

    assert [line for line in text.split("## Facts")[1].split("\n") if line.endswith("|  |")] == []


def test_the_published_schema_is_the_payloads() -> None:
    """Receivers rely on it."""
    published = json.loads((ROOT / "docs" / "notice.schema.json").read_text(encoding="utf-8"))

    assert published == NoticePayload.model_json_schema()

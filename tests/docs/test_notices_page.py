"""What is documented of notices is what is sent."""

import json
import re
from pathlib import Path

from bot.adapters.notify import NoticePayload
from bot.notices import scan
from bot.notices.lint import facts_named
from bot.notices.reference import BEGIN, reference
from bot.notices.template import environment_of

ROOT = Path(__file__).parents[2]


def test_the_page_shows_each_notice_as_it_is_rendered() -> None:
    """`python -m bot.notices.reference` writes it anew."""
    page = (ROOT / "docs" / "notices.md").read_text(encoding="utf-8")

    assert BEGIN + page.split(BEGIN)[1] == reference(scan(ROOT / "messages"))


def test_every_fact_is_documented() -> None:
    """A template's author finds each variable with what it means."""
    text = reference(scan(ROOT / "messages"))

    assert [line for line in text.split("## Facts")[1].split("\n") if line.endswith("|  |")] == []


def test_every_variable_of_every_template_is_documented() -> None:
    """Also those that stand in others, in parts of templates, and in branches that nothing enters."""
    listed = set(re.findall(r"^\| `([^`]+)` \|", reference(scan(ROOT / "messages")), re.MULTILINE))
    environment = environment_of(ROOT / "messages")
    assert environment.loader is not None

    named = {
        way.removesuffix("[]")
        for path in (ROOT / "messages").glob("*.md.j2")
        for way, _ in facts_named(environment.parse(environment.loader.get_source(environment, path.name)[0]))
        if way.split(".")[0] != "loop"
    }

    assert {"affected.rows", "reading.runs[].path", "trusted.pins[].engine"} <= named
    assert named - listed == set()


def test_the_published_schema_is_the_payloads() -> None:
    """Receivers rely on it."""
    published = json.loads((ROOT / "docs" / "notice.schema.json").read_text(encoding="utf-8"))

    assert published == NoticePayload.model_json_schema()

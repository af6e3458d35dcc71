"""Every notice, over generated facts: within Slack's limits, and the same words in every form."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.notices import render, scan
from bot.notices.forms import as_fragment, as_html, as_markdown, as_plain
from bot.notices.lint import MOST_CHARACTERS
from bot.notices.samples import samples
from bot.slack.limits import SECTION_TEXT, pages

TEMPLATES = scan(Path(__file__).parents[2] / "messages")
SHAPES = [facts for _shape, facts in samples()]
WORDS = st.text(alphabet=st.sampled_from("ab <>&*_`~[](){}|\\#!@:\n\u202e\u200b'\"é漢"), max_size=120)


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(sorted(TEMPLATES)), facts=st.sampled_from(SHAPES), words=WORDS, name=WORDS)
def test_whatever_people_write_stays_text_in_every_form(kind: str, facts: object, words: str, name: str) -> None:
    """No tag, no link, no mention of theirs comes alive; no section is too long for Slack."""
    hostile = facts.model_copy(update={"words": words, "summary": words, "consumer": f"x{name}"})  # type: ignore[attr-defined]

    text = render(TEMPLATES[kind], hostile)

    page = as_html(text)
    assert len(text) <= MOST_CHARACTERS + 6 * 3 * len(words + name)
    assert all(len(part) <= SECTION_TEXT for part in pages(text))
    assert page.count("<a ") == text.count("<#") + text.count("<@")
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("<pre") == text.count("```") // 2
    assert as_plain(text).strip()
    assert as_markdown(text).count("```") == text.count("```")


def test_what_is_to_be_copied_stays_as_it_is_in_every_form() -> None:
    """A query with two stars, and lines of a patch, are neither bold nor a list."""
    lines = "SELECT * FROM a.b /*+ OPTIONS('tag'='w') */\n- physicalType: long\n+ physicalType: &lt;any&gt;"
    shown = lines.replace("&lt;", "<").replace("&gt;", ">")
    text = f"*All* is well.\n\n```\n{lines}\n```\n• and *so* on"

    assert f"All is well.\n\n{shown}\n- and so on\n" == as_plain(text)
    assert f"```\n{shown}\n```\n" in as_markdown(text)


@pytest.mark.parametrize(
    "words",
    ["# of rows is wrong", "###", "1. first", "2026) was", "- item", "+ item", "-", "===", "---", "--- ---", "    x"],
)
@pytest.mark.parametrize("before", ["*Head.*\n", "*Head.*\n\n", "*Head.*\n• "])
def test_what_people_write_makes_no_heading_and_no_list(before: str, words: str) -> None:
    """Neither of itself nor of the line before it; a hash, a number and a sign are shown as they were written."""
    page = as_fragment(f"{before}{words}\nCause: x.")

    assert page.count("<li>") == before.count("•")
    assert all(f"<{tag}" not in page for tag in ("h1", "h2", "h3", "hr", "ol", "code"))
    assert words.strip() in page


def test_a_number_and_a_sign_within_a_line_stay_as_they_are() -> None:
    """No mark is put where none is needed: some read the Markdown itself."""
    text = "#4711 was -5 or +3; 1.5 times; --- so = it - is # there\n"

    assert as_markdown(text.rstrip("\n")) == text

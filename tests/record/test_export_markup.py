"""What is exported cannot become markup, and is read as it was meant: names, notices, cells, one closed file."""

import pytest

from bot.domain.entries import NoteAdded, NoticeQueued
from bot.domain.notice import Notice
from bot.service.record import Records
from tests.decisions import ANA, CHANNEL, EVE
from tests.incidents import Story
from tests.record.exported import FORMATS, Nesting, written


@pytest.mark.parametrize("form", FORMATS)
def test_people_are_shown_by_name(story: Story, records: Records, form: str) -> None:
    """Slack's ids are replaced where a name is known, mentions in texts included."""
    story.opens().says(NoteAdded(text="Asked <@U0BEN00001> and <@U0EVE00001>."), by=ANA)

    text = written(records, story, form)

    assert "Asked Ben and U0EVE00001." in text
    assert ANA not in text


def test_html_is_one_well_formed_file_that_asks_for_nothing(story: Story, records: Records) -> None:
    """No script, no foreign address, every element closed in its turn: it opens the same in ten years."""
    page = Nesting()
    incident = story.whole().incident

    page.feed(records.html(incident, lines=story.journal.lines(incident.id)))

    assert page.open == []
    tags = {tag for tag, _ in page.seen}
    assert not tags & {"script", "img", "link", "iframe", "object", "form"}
    addresses = [value for _, attributes in page.seen for name, value in attributes.items() if name in ("href", "src")]
    assert addresses
    assert all(address and address.startswith("#") for address in addresses)
    named = {attributes.get("id") for _, attributes in page.seen}
    assert {address.removeprefix("#") for address in addresses if address} <= named


def test_text_from_outside_cannot_become_markup(story: Story, records: Records) -> None:
    """Summaries, samples, notices and notes are shown as they were written."""
    evil = "<script>alert('x')</script>"
    story.opens(summary=evil).answers(headline=evil, columns=(evil,), rows=((evil,),))
    story.says(NoteAdded(text=evil), by=evil).notifies(consumer=evil).closes()

    html, markdown = records.html(story.incident), records.markdown(story.incident)

    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 6
    assert "<script" not in markdown


@pytest.mark.parametrize(
    "evil", ["## Proposals", "[l](http://x)", "![i](http://x)", "<http://x>", "**b**", "1. a", "- a"]
)
def test_text_from_outside_is_no_markdown_in_the_page(story: Story, records: Records, evil: str) -> None:
    """The page is made from Markdown: a section, a link, a list or bold type is our own."""
    plain = records.html(
        Story(story.journal)
        .opens(summary="x")
        .answers(headline="x", columns=("note",), rows=(("x",),))
        .closes()
        .incident
    )
    story.opens(summary=evil).answers(headline=evil, columns=("note",), rows=((f"x\n\n{evil}",),)).closes()

    page = records.html(story.incident)

    assert "http://x" not in "".join(part.split(">")[0] for part in page.split("<")[1:])
    for tag in ("<h2>", "<a ", "<li>", "<strong>", "<ol>"):
        assert page.count(tag) == plain.count(tag), tag


@pytest.mark.parametrize("form", FORMATS)
def test_a_notice_is_shown_as_its_reader_saw_it(story: Story, records: Records, form: str) -> None:
    """Not as Slack's markup: bold is bold, people and the channel have names, and what others wrote is escaped once."""
    text = "*sales.orders is under review.*\nEnds &lt;today&gt; &amp; not before. [l](http://x)\n• Wait.\n"
    text += f"Questions: <#{CHANNEL}>; <@{ANA}> is responding, and <@{EVE}>."
    queued = NoticeQueued(notice=Notice(kind="update", revision=1, consumer="c", channel="C0REVENUE1", text=text))

    told = written(records, story.opens().says(queued), form)

    assert ("<strong>sales" if form == "html" else "> **sales") in told
    assert "Ends &lt;today&gt; &amp; not before." in told
    assert ("<li>Wait.</li>" if form == "html" else "> - Wait.") in told
    assert f"Questions: the incident's channel; Ana is responding, and {EVE}." in told
    assert '<a href="http' not in told
    assert ("[l](http://x)" if form == "html" else "\\[l\\](http://x)") in told


def test_a_cell_cannot_break_a_markdown_table(story: Story, records: Records) -> None:
    """A bar or a line break in a sample stays inside its cell."""
    story.opens().answers(columns=("note",), rows=(("a|b\nc",),))

    assert "| a\\|b c |" in records.markdown(story.incident)

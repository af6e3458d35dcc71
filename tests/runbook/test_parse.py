"""Markdown to steps, and a clear refusal for everything else."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.domain.errors import BadConfiguration
from bot.domain.ids import StepId
from bot.domain.runbook import DecisionStep, EvidenceStep, NoticeStep
from bot.runbook.parse import Parts, parse, read_all
from tests.runbook.books import KNOWN, RIGHT, SHARED, SHORT, with_change


def test_own_steps_are_read_as_they_are_written() -> None:
    """Front matter, and the steps in the file's order with what the responder reads."""
    book = parse(RIGHT, "rows-twice.md", KNOWN)

    assert (book.id, book.title, book.applies_to) == ("rows-twice", "Consumers see rows twice", ("*",))
    assert [s.id for s in book.steps] == [
        "count", "name-it", "planned", "rewind", "call", "count-again", "tell", "review",
    ]  # fmt: skip
    first, asks = book.steps[0], book.steps[2]
    assert isinstance(first, EvidenceStep)
    assert (first.title, first.prose, first.task) == (
        "Count the duplicate rows",
        "Look at the pairs.",
        "duplicate_rows",
    )
    assert (first.branches, first.next) == ({"ruled-out": "review"}, "name-it")
    assert isinstance(asks, DecisionStep)
    assert [(c.key, c.label) for c in asks.choices] == [("yes", "It was planned"), ("no", "Nobody planned it")]


def test_evidence_is_asked_in_the_order_of_the_front_matter() -> None:
    """With the task's own readings, of which the runbook replaces some; the first step says what to know before."""
    first, second, then = parse(SHORT, "odd.md", KNOWN).steps[:3]

    assert [(s.id, s.task, s.next) for s in (first, second) if isinstance(s, EvidenceStep)] == [
        ("ledger", "ledger", "duplicate-rows"),
        ("duplicate-rows", "duplicate_rows", "name-it"),
    ]
    assert first.prose.splitlines()[:4] == [
        "Touch nothing.",
        "Look for a second run.",
        "*Confirmed*: There are ledger.",
        "*Ruled out*: There are no ledger.",
    ]
    assert "*Ruled out*: Ask the consumer.\n*Inconclusive*: Something could not be read." in second.prose
    assert then.id == "name-it"


def test_shared_steps_have_the_runbooks_words_in_their_slots() -> None:
    """A slot is gone where the runbook has nothing to say there."""
    book, bare = (parse(text, "odd.md", KNOWN) for text in (SHORT, SHORT[: SHORT.index("## Repair")]))

    assert book.step(StepId("repair")).prose == "Move table and job together.\nRead the preview."
    assert book.step(StepId("call")).prose == "Leave it as it is.\nAsk who deployed."
    assert (bare.step(StepId("repair")).prose, bare.step(StepId("call")).prose) == (
        "Read the preview.",
        "Leave it as it is.",
    )


@pytest.mark.parametrize("most", [2, 3])
def test_a_return_is_written_out_as_rounds(most: int) -> None:
    """The repair is proposed at most so often; each round is proven, and the last one returns no more."""
    shared = {"_recover.md": SHARED.replace("at_most: 2", f"at_most: {most}")}
    book = parse(SHORT, "odd.md", KNOWN.model_copy(update={"shared": shared}))

    names = [""] + [f"-round-{number}" for number in range(2, most + 1)]
    for name, after in zip(names, [*names[1:], None], strict=True):
        repair, look = book.step(StepId(f"repair{name}")), book.step(StepId(f"look-again{name}"))
        second = book.step(StepId(f"look-again-missing-positions{name}"))
        assert repair.branches == {"applied": look.id}
        assert (look.branches, second.branches) == ({"ruled-out": second.id}, {"ruled-out": "tell"})
        assert (look.next, second.next) == ((f"what-is-left{name}",) * 2 if after else ("call", "call"))
        if after:
            left = book.step(StepId(f"what-is-left{name}"))
            assert (left.branches["nothing"], left.next) == (f"look-again{after}", f"repair{after}")
    assert len([step for step in book.steps if step.id.startswith("what-is-left")]) == most - 1


def test_what_proves_a_repair_is_the_runbooks_own_choice() -> None:
    """Its `proof` goes before the shared one."""
    book = parse(with_change("then: recover", "then: recover\nproof: [ledger]", SHORT), "odd.md", KNOWN)

    assert [step.task for step in book.steps if isinstance(step, EvidenceStep)] == [
        "ledger", "duplicate_rows", "ledger", "ledger",
    ]  # fmt: skip


def test_a_step_that_does_not_say_where_it_leads_goes_on_below() -> None:
    """Evidence, manual steps and notices; what decides or acts must say."""
    book = parse(SHORT, "odd.md", KNOWN)

    tell = book.step(StepId("tell"))
    assert isinstance(tell, NoticeStep)
    assert tell.next == "review"


@pytest.mark.parametrize("text", [RIGHT, SHORT, RIGHT.replace("\n", "\r\n")])
def test_the_text_that_an_incident_keeps_needs_nothing_else(text: str) -> None:
    """It reads as the same runbook without tasks and without the shared file."""
    book = parse(text, "odd.md", KNOWN)

    assert parse(book.text, "odd.md", Parts()) == book


def test_the_digest_changes_with_what_is_drawn_in() -> None:
    """A word in the shared file or in a task's declaration is another runbook."""
    loud = KNOWN.tasks["ledger"].model_copy(update={"ruled_out_means": "all is well"})
    others = (
        KNOWN.model_copy(update={"shared": {"_recover.md": SHARED.replace("Read the preview.", "Read it.")}}),
        KNOWN.model_copy(update={"tasks": {**KNOWN.tasks, "ledger": loud}}),
    )

    assert len({parse(SHORT, "odd.md", parts).digest for parts in (KNOWN, *others)}) == 3


@pytest.mark.parametrize(
    "text", ["", "---", "---\n---\n", "hello", "---\nid: x\n", "---\n- a\n---\n", "---\n&a [*a]\n---"]
)
def test_what_is_no_runbook_is_refused(text: str) -> None:
    """Not a traceback, but what to write."""
    with pytest.raises(BadConfiguration, match="is not well formed"):
        parse(text, "x.md", KNOWN)


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_random_text_is_refused_clearly(text: str) -> None:
    """Whatever a file holds, the start stops with a message and not with a traceback."""
    with pytest.raises(BadConfiguration):
        parse(text, "x.md", KNOWN)


YAML_PIECES = st.sampled_from(
    ["id", "kind", ":", ": ", "\n", "- ", "[", "]", "{", "}", "&a", "*a", "!!int", "!x", "|", ">", "'", '"', "#", "?",
     "2001-99-99", "0x", "\t", " ", "  ", "%YAML 1.1", "---", "...", "\x00", "\x85", "\ufeff", "`", "```", "<<", "{x}"]
)  # fmt: skip
PLACES = {
    "block": ("id: call\n", RIGHT),
    "front": ("owners: [data-platform]\n", SHORT),
    "prose": ("Leave it as it is.\n", RIGHT),
    "reading": ("- ledger: Look for a second run.\n", SHORT),
}


@settings(max_examples=200, deadline=None)
@given(st.lists(YAML_PIECES, max_size=12).map("".join), st.sampled_from(sorted(PLACES)))
@example(piece="&a: : &a:", where="block")
def test_random_yaml_never_breaks_the_reader(piece: str, where: str) -> None:
    """Broken YAML or Markdown in any place is a problem with a line, or is a runbook; never another error."""
    old, text = PLACES[where]

    _read_or_refused(with_change(old, old + piece + "\n", text))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([RIGHT, SHORT]), st.integers(0, len(RIGHT)), st.integers(0, 60))
def test_a_runbook_with_a_piece_cut_out_never_breaks_the_reader(text: str, start: int, length: int) -> None:
    """An editor's accident is refused or still a whole runbook."""
    _read_or_refused(text[:start] + text[start + length :])


def _read_or_refused(text: str) -> None:
    try:
        book = parse(text, "x.md", KNOWN)
    except BadConfiguration as refused:
        assert "x.md:" in str(refused)  # noqa: PT017 - either end is right, and each is checked
    else:
        assert parse(book.text, "x.md", Parts()) == book
        assert len({step.id for step in book.steps}) == len(book.steps)


def test_a_folder_is_read_by_file_name_in_the_order_of_titles(tmp_path: Path) -> None:
    """A responder picks from a list of symptoms; a shared file is none."""
    (tmp_path / "rows-twice.md").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "other.md").write_text(SHORT.replace("title: The", "title: A"), encoding="utf-8")
    (tmp_path / "_recover.md").write_text(SHARED, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("not a runbook")

    assert list(read_all(tmp_path, KNOWN.tasks)) == ["other", "rows-twice"]


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """The message names the byte."""
    (tmp_path / "a.md").write_bytes(b"---\n\xff\n")

    with pytest.raises(BadConfiguration, match="the byte 0xff at offset 4"):
        read_all(tmp_path, {})

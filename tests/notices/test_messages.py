"""The templates and their lint: every notice says the right thing for every shape of facts."""

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import pytest

from bot.notices import NoticeTemplate, render, scan
from bot.notices.lint import MOST_CHARACTERS, MOST_IN_A_PARAGRAPH, lint
from bot.notices.samples import AFFECTED, READINGS, TRUSTED, samples
from bot.observation.errors import BadConfiguration
from tests.notices.conftest import MESSAGES

SAMPLES = dict(samples())
LIST_BELOW = re.compile(r"(list|snapshots?|listed|ids) below")
KINDS = ("correction", "no_action", "planned_work", "recovered", "review", "update", "warning")


def _sample(reading: str = "not observed", trusted: str = "trusted by tag", affected: str = "under review",
            stage: str = "diagnosed") -> str:  # fmt: skip
    return f"{reading}, {trusted}, {affected}, {stage}"


def test_the_notices_of_the_design_are_there(templates: Mapping[str, NoticeTemplate]) -> None:
    """One file each; parts that begin with _ are no notices."""
    assert tuple(templates) == KINDS
    assert all(template.title and template.when for template in templates.values())


def test_the_projects_messages_pass_lint() -> None:
    """Every template renders with every sample."""
    assert lint(MESSAGES) == ()


@pytest.mark.parametrize("kind", KINDS)
def test_every_shape_renders_within_the_limits(templates: Mapping[str, NoticeTemplate], kind: str) -> None:
    """No paragraph is too long for a section, no line is broken, nothing is left of the template's own marks."""
    for shape, facts in SAMPLES.items():
        text = render(templates[kind], facts)

        assert 0 < len(text) <= MOST_CHARACTERS, shape
        assert max(map(len, text.split("\n\n"))) <= MOST_IN_A_PARAGRAPH, shape
        assert "{{" not in text, shape
        assert "None" not in text, shape
        assert "\n\n\n" not in text, shape
        assert text.startswith(("*sales.orders is", "*sales.orders was", "*sales.orders: ")), shape


@pytest.mark.parametrize("kind", ["warning", "update"])
@pytest.mark.parametrize("trusted", TRUSTED)
def test_a_consumer_is_told_how_to_pin(templates: Mapping[str, NoticeTemplate], kind: str, trusted: str) -> None:
    """By tag where it stands, else by id, and not at all where nothing is trusted."""
    text = render(templates[kind], SAMPLES[_sample(trusted=trusted)])

    assert ("VERSION AS OF 'waterline'" in text) is (trusted in ("trusted by tag", "trusted, not looked at"))
    assert ("VERSION AS OF 5130840912223377421" in text) is (trusted == "trusted by id")
    assert ("How to read the" in text) is (trusted not in ("no trusted snapshot", "trusted, not listed"))
    assert ("pause runs" in text) is (trusted in ("no trusted snapshot", "trusted, not listed"))


@pytest.mark.parametrize("kind", ["warning", "update", "recovered"])
@pytest.mark.parametrize(
    ("reading", "says"),
    [
        ("read above", "revenue_daily read rows"),
        ("not observed", "ineage"),
        ("no run known", "ineage shows no run of revenue_daily"),
        ("unknown readers", "cannot tell whether revenue_daily read"),
    ],
)
def test_a_consumer_is_told_whether_it_read_above(
    templates: Mapping[str, NoticeTemplate], kind: str, reading: str, says: str
) -> None:
    """Read above, not seen, no run known, could not look: four different sentences."""
    text = render(templates[kind], SAMPLES[_sample(reading=reading)])

    assert says in text
    assert ("run-1" in text) is (reading == "read above")
    assert ("Assume that revenue_daily read" in text) is (reading == "unknown readers" and kind != "recovered")
    assert ("need not do anything" in text) is (kind == "recovered" and reading == "not observed")


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_below_is_mentioned_only_where_there_is_one(templates: Mapping[str, NoticeTemplate], kind: str) -> None:
    """No sentence points at snapshots that are not listed."""
    shapes = [_sample(reading=reading, affected=affected) for affected in AFFECTED for reading in READINGS]
    texts = {shape: render(templates[kind], SAMPLES[shape]) for shape in shapes}

    assert [] == [s for s, text in texts.items() if LIST_BELOW.search(text) and "Snapshots: `" not in text]


@pytest.mark.parametrize("kind", ["warning", "update", "correction"])
@pytest.mark.parametrize("trusted", TRUSTED)
def test_nobody_is_sent_to_a_snapshot_that_cannot_be_read(
    templates: Mapping[str, NoticeTemplate], kind: str, trusted: str
) -> None:
    """It was trusted, and has expired: no sentence calls it safe beside the one that says so."""
    text = render(templates[kind], SAMPLES[_sample(trusted=trusted)])

    can_be_read = trusted in ("trusted by tag", "trusted by id")
    assert bool(re.search(r"(the trusted|stay on) snapshot `[0-9]+`[^.(]*\.", text)) is can_be_read
    assert ("nobody can read it" in text) is (trusted == "trusted, not listed")


@pytest.mark.parametrize("kind", ["warning", "update", "correction"])
def test_nobody_is_called_safe_on_rows_that_were_not_looked_at(
    templates: Mapping[str, NoticeTemplate], kind: str
) -> None:
    """The snapshot is named, with what is not known of it, and no sentence calls it trusted or safe."""
    text = render(templates[kind], SAMPLES[_sample(trusted="trusted, not looked at")])

    assert "not verified yet" in text
    assert "VERSION AS OF 'waterline'" in text
    assert "trusted snapshot" not in text


@pytest.mark.parametrize("stage", ["diagnosed", "proven"])
@pytest.mark.parametrize("kind", KINDS)
def test_consumers_are_shown_no_address_and_no_error_of_ours(
    templates: Mapping[str, NoticeTemplate], kind: str, stage: str
) -> None:
    """Why lineage could not tell is for responders, who read it on the incident's card."""
    text = render(templates[kind], SAMPLES[_sample(reading="unknown readers", stage=stage)])

    assert "lineage:5000" not in text
    assert "refused" not in text


@pytest.mark.parametrize("kind", ["recovered", "correction"])
@pytest.mark.parametrize("reading", ["not observed", "no run known", "unknown readers", "many readers", "nobody seen"])
def test_where_nothing_was_affected_nobody_is_asked_to_look(
    templates: Mapping[str, NoticeTemplate], kind: str, reading: str
) -> None:
    """Also where it is not known who reads: there is nothing that could be compared."""
    text = render(templates[kind], SAMPLES[_sample(reading=reading, affected="nothing affected", stage="proven")])

    assert "You need not do anything." in text
    assert "Please check" not in text
    assert "read rows that were wrong" not in text


@pytest.mark.parametrize("kind", ["warning", "update", "correction"])
def test_the_next_word_has_its_time(templates: Mapping[str, NoticeTemplate], kind: str) -> None:
    """What is promised is a time, in UTC, and its day: a mail may come, or be read, on another one."""
    assert "by 3 Nov 2026, 12:30 UTC" in render(templates[kind], SAMPLES[_sample()])


@pytest.mark.parametrize(("number", "stage", "says"), [
    (1, "proven", "In total, 1 record found missing."),
    (2, "diagnosed", "So far, 2 records found missing."),
    (1, "proven", "In total, 1 duplicate row found."),
    (2, "diagnosed", "So far, 2 duplicate rows found."),
])  # fmt: skip
def test_what_was_counted_is_said_in_a_sentence(
    templates: Mapping[str, NoticeTemplate], number: int, stage: str, says: str
) -> None:
    """Of one as of many."""
    facts = SAMPLES[_sample(stage=stage)]
    damage = facts.damage.model_copy(update={"extra_rows": number, "missing_positions": number})

    assert says in render(templates["update"], facts.model_copy(update={"damage": damage}))


@pytest.mark.parametrize("kind", ["recovered", "no_action"])
def test_the_last_message_says_that_it_is(templates: Mapping[str, NoticeTemplate], kind: str) -> None:
    """Nobody waits for a further word."""
    assert "This is the last message about the table, unless we have to correct it." in render(
        templates[kind], SAMPLES[_sample()]
    )


def test_a_review_takes_back_nothing_that_was_asked(templates: Mapping[str, NoticeTemplate]) -> None:
    """Who was asked to run again and has not is not told that nothing to do."""
    text = render(templates["review"], SAMPLES[_sample()])

    assert "You need not do anything" not in text
    assert "What earlier messages asked for still holds" in text


def test_a_correction_without_a_next_word_promises_none(templates: Mapping[str, NoticeTemplate]) -> None:
    """Of a table that is proven, told to who had the closing message, the incident open or not."""
    facts = SAMPLES[_sample(stage="proven")].model_copy(update={"next_word_at": None})

    text = render(templates["correction"], facts)

    assert "This is the last message about the table" in text
    assert "is closed" not in text


@pytest.mark.parametrize("kind", KINDS)
def test_whom_to_ask_is_said_so_that_it_holds_by_every_way(templates: Mapping[str, NoticeTemplate], kind: str) -> None:
    """The same text goes where there is a button or a link, and where nothing can be answered; a channel is no help to
    who is not in it."""
    text = render(templates[kind], SAMPLES[_sample()])

    assert "Questions: <#C0ORDERS01>, or Orders: Dana &lt;Weiss&gt; (Owner), Ben. Responder: <@U0ANA00001>." in text
    assert "your answer" not in text


def test_foreign_text_can_neither_ping_nor_format(templates: Mapping[str, NoticeTemplate]) -> None:
    """What others wrote is escaped with the three escapes that Slack decodes; our own mentions stay mentions."""
    shape = _sample()
    facts = SAMPLES[shape].model_copy(update={"summary": '<!channel> O\'Brien & <@U1> said "x" > y'})

    text = render(templates["warning"], facts)

    assert '&lt;!channel&gt; O\'Brien &amp; &lt;@U1&gt; said "x" &gt; y' in text
    assert "<#C0ORDERS01>" in text
    assert "<@U0ANA00001>" in text


def test_a_run_id_cannot_leave_its_back_ticks(templates: Mapping[str, NoticeTemplate]) -> None:
    """Code style ends where we end it."""
    reading = READINGS["read above"]
    assert reading.kind == "read-above"
    run = reading.runs[0].model_copy(update={"run_id": "x` *y* `z"})
    facts = SAMPLES[_sample()].model_copy(update={"reading": reading.model_copy(update={"runs": (run,)})})

    assert "`x' *y* 'z`" in render(templates["warning"], facts)


def test_times_are_told_in_utc(templates: Mapping[str, NoticeTemplate]) -> None:
    """A moment in another zone is the same moment in the text."""
    facts = SAMPLES[_sample()].model_copy(update={"opened_at": datetime.fromisoformat("2026-11-03T01:30+02:00")})

    assert "open since 2 Nov 2026, 23:30 UTC" in render(templates["update"], facts)


HEAD = "---\ntitle: Test\nwhen: never\naudience: consumers\n---\n"


def _folder(tmp_path: Path, text: str, name: str = "hello.md.j2") -> Path:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_good_message_has_no_problem(tmp_path: Path) -> None:
    """The smallest notice is front matter and a sentence."""
    assert lint(_folder(tmp_path, HEAD + "Hello {{ consumer }}.\n")) == ()


@pytest.mark.parametrize(
    ("body", "line", "said"),
    [
        ("Hello\n{{ nobody }}\n", 7, "There is no fact nobody"),
        ("Hello\n\n{% if stage == 'no such' %}\n{{ hidden }}\n{% endif %}\n", 9, "There is no fact hidden"),
        ("Hello\n{{ trusted.nothing }}\n", 7, "There is no fact trusted.nothing"),
        ("Hello\n{% for r in reading.runs[:3] %}\n{{ r.gone }}\n{% endfor %}\n", 8, "reading.runs[].gone"),
        ("Hello\n{% if stage == 'none' %}{{ affected.ranges[0].lost }}{% endif %}\n", 7, "affected.ranges[].lost"),
        ("Hello\n{% if %}\n", 7, "This is not a template"),
        ("{{ table | upside_down }}\n", 6, "No filter named 'upside_down'"),
        ('Hello\n{% include "_gone.md.j2" %}\n', 7, "_gone.md.j2"),
        ("{{ table.__class__ }}\n", 6, "unsafe"),
        ("{% if affected %}Hello{% endif %}\n", 1, "nothing is said"),
        ("{{ 'word ' * 700 }}\n", 1, "a paragraph of"),
        ("{{ ('word ' * 400 + '\n\n') * 5 }}\n", 1, "at most 8000 fit"),
    ],
)
def test_a_problem_names_file_and_line(tmp_path: Path, body: str, line: int, said: str) -> None:
    """Also in a branch that no sample enters, and counted with the front matter."""
    [problem] = lint(_folder(tmp_path, HEAD + body))

    assert (problem.file, problem.line) == ("hello.md.j2", line)
    assert said in problem.message
    assert str(problem).startswith(f"hello.md.j2:{line}: ")


def test_a_problem_in_a_part_names_the_part(tmp_path: Path) -> None:
    """The line that must be mended is in the included file."""
    _folder(tmp_path, "one\n{{ trusted.nothing }}\n", "_part.md.j2")

    [problem] = lint(_folder(tmp_path, HEAD + '{% include "_part.md.j2" %}\n'))

    assert (problem.file, problem.line) == ("_part.md.j2", 2)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("Hello\n", 1, "title"),
        ("---\ntitle: Test\nwhen: never\naudience: everyone\n---\nHello\n", 1, "audience"),
        ("---\ntitle: Test\nwhen: [never\naudience: consumers\n---\nHello\n", 4, "front matter"),
        ("---\ntitle: Test\nwhen: never\naudience: consumers\nwho: me\n---\nHello\n", 1, "who"),
    ],
)
def test_front_matter_must_be_complete(tmp_path: Path, text: str, line: int, said: str) -> None:
    """Title, when and audience, and nothing that means nothing; the start is refused as lint refuses."""
    folder = _folder(tmp_path, text)

    [problem] = lint(folder)

    assert (problem.file, problem.line) == ("hello.md.j2", line)
    assert said in problem.message
    with pytest.raises(BadConfiguration, match=f"hello.md.j2:{line}"):
        scan(folder)


def test_a_folder_without_notices_is_a_problem(tmp_path: Path) -> None:
    """An empty or wrong folder is not a clean one."""
    assert "No notice found" in lint(tmp_path)[0].message


def test_rendering_a_broken_message_says_what_to_do(tmp_path: Path) -> None:
    """What lint would have found is an answer, not a trace."""
    template = scan(_folder(tmp_path, HEAD + "{{ nobody }}\n"))["hello"]

    with pytest.raises(BadConfiguration, match="waterline lint"):
        render(template, next(facts for _, facts in samples()))

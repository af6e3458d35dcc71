"""The small pieces that messages are made of."""

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import bot.diagnosis
import spark_tasks
from bot.adapters.journal_sql import open_store
from bot.diagnosis._support.examine import scan
from bot.evidence import find_tasks
from bot.incident.diagnosis import CannotTell, Diagnosis, Excluded, Matches, ModeResult, Remedy
from bot.incident.entries import Finding
from bot.observation.evidence import Measure, Task, Verdict
from bot.observation.ledger import Ledger
from bot.observation.sentences import counted, users_in
from bot.service.ledger_picture import picture
from bot.slack.blocks.diagnosis import diagnosis_message
from bot.slack.blocks.evidence import evidence_message, folded
from bot.slack.blocks.parts import measures, sign
from bot.slack.blocks.review import review_message
from bot.slack.commands import last_commits
from bot.slack.limits import pages
from bot.slack.pictures import comment_on
from bot.slack.text import as_sentence, read_at, short_paths, written
from tests import orders_table as orders
from tests.incidents import Story

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at file:/lab/savepoints/savepoint-5457e3-1; then", "at …/savepoint-5457e3-1; then"),
        ("s3://bucket/checkpoints/chk-12.", "…/chk-12."),
        ("see https://example.org/a/b/c", "see https://example.org/a/b/c"),
        ("1/2 of a/b", "1/2 of a/b"),
    ],
)
def test_long_paths_are_told_by_their_end(text: str, shown: str) -> None:
    """A phone shows what tells two savepoints apart; links stay whole."""
    assert short_paths(text) == shown


def test_columns_that_tell_no_rows_apart_are_told_once() -> None:
    """A table in a thread is narrow; three equal cells are one sentence."""
    columns, rows = ("id", "engine"), (("1", "flink"), ("2", "flink"), ("3", "flink"))

    assert folded(columns, rows) == (("id",), (("1",), ("2",), ("3",)), "engine flink")
    assert folded(columns, rows[:2]) == (columns, rows[:2], "")


def test_measures_leave_out_what_says_nothing() -> None:
    """Zeros after the first, and units that the name holds already."""
    told = measures(
        (
            Measure(name="missing positions", value=0, unit="positions"),
            Measure(name="gaps", value=0, unit="gaps"),
            Measure(name="job runs", value=2, unit="runs"),
            Measure(name="rolled back", value=1200, unit="commits"),
            Measure(name="paired", value=1, unit="restore points"),
        )
    )

    assert told == "missing positions *0* · job runs *2* · rolled back *1,200* commits · paired *1* restore point"


def message_of(told: Diagnosis) -> str:
    """The blocks of a diagnosis in an incident that has just begun."""
    with closing(open_store("sqlite://")) as store:
        incident = Story(store.journal).opens().incident
    return str([block.to_dict() for block in diagnosis_message(told, incident)[1]])


def test_what_could_not_be_looked_at_is_told_apart_from_what_matches() -> None:
    """A neighbour that nobody can exclude: then people must know by what it differs. Others need no such line."""
    modes = scan(bot.diagnosis)
    match = Matches(headline="it began too far back.", reasons=(), remedy=Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB)
    results = {
        "F2": match,
        "F13": CannotTell(missing=("Flink.",)),
        "F5": CannotTell(missing=("Flink.",)),
        "F1": Excluded(reason="No commit repeats another."),
        "F20": Matches(headline="one failed.", reasons=(), remedy=Remedy.NOTHING),
    }
    told = Diagnosis(results=tuple(ModeResult(mode=modes[code].mode, examined=e) for code, e in results.items()))

    said = message_of(told)

    assert "*F2* from *F13*: There the older run commits on" in said
    assert not any(f"from *{code}*" in said for code in ("F1", "F5"))
    assert "'text': 'F20: one failed.'" in said  # folded: it asks for nothing


def test_a_mode_that_is_open_alone_is_named_by_more_than_its_code() -> None:
    """F22 tells nobody what is still to be looked for; several that miss the same are told by their codes."""
    modes = scan(bot.diagnosis)
    missing = {"F22": "orphan_files", "F13": "Flink.", "F5": "Flink."}
    told = Diagnosis(
        results=tuple(ModeResult(mode=modes[c].mode, examined=CannotTell(missing=(m,))) for c, m in missing.items())
    )

    said = message_of(told)

    assert f"*F22* {modes['F22'].mode.title}: orphan_files" in said
    assert "*F13, F5*: Flink." in said


def test_a_ledger_says_how_many_commits_its_table_leaves_out(tmp_path: Path) -> None:
    """A jump in the checkpoint ids between two of its rows is no hole then."""
    rows = orders.ledger().rows
    with closing(open_store(f"sqlite:///{tmp_path}/record.sqlite")) as store:
        story = Story(store.journal).opens()
        story.draws_the_ledger(Ledger(rows=rows * 3, readers_known=True))
        [run] = story.incident.runs.values()

    said = str([block.to_dict() for block in evidence_message(run, find_tasks(spark_tasks)["ledger"].task)[1]])

    assert f"{len(rows) * 3 - 2} of {len(rows) * 3} commits are not listed" in said


def test_a_picture_is_posted_with_what_it_does_not_show() -> None:
    """Older commits that found no room, and readers that nobody could ask for; neither where there is none."""
    whole = picture(orders.ledger(), line_at=None, label="", taken_back=frozenset())
    part = picture(orders.ledger(readers_known=False), line_at=None, label="", taken_back=frozenset())
    part = part.model_copy(update={"left_out": 12})

    told = [comment_on(each) for each in (whole, part)]

    assert "older" not in told[0]
    assert "unknown" not in told[0]
    assert "12 older commits are not drawn." in told[1]
    assert "Readers are unknown" in told[1]


def test_the_last_commits_of_a_table_say_their_day_where_not_all_is_of_one() -> None:
    """Nobody takes a commit of last night for one of this morning."""
    table = orders.table_state()

    today = last_commits(table)
    later = last_commits(table.model_copy(update={"read_at": orders.NINE + timedelta(days=1)}))

    assert "\n08:58:00 …209903 append" in today
    assert "\n2026-11-03 08:58:00 …209903 append" in later


@pytest.mark.parametrize(
    ("confirmed_is", "confirmed", "ruled_out"),
    [
        ("trouble", ":red_circle:", ":large_green_circle:"),
        ("relief", ":large_green_circle:", ":red_circle:"),
        ("neutral", ":information_source:", ":large_green_circle:"),
    ],
)
def test_a_restore_point_that_pairs_is_not_shown_as_trouble(confirmed_is: str, confirmed: str, ruled_out: str) -> None:
    """The colour follows what a verdict means to the responder, not the verdict."""
    said = {"title": "T", "question": "Q?", "confirmed_means": "m", "ruled_out_means": "n", "cost": "c"}
    fields = {"name": "t", "needs": (), **said}
    task = Task.model_validate({**fields, "confirmed_is": confirmed_is})

    assert sign(Verdict.CONFIRMED, task) == confirmed
    assert sign(Verdict.RULED_OUT, task) == ruled_out
    assert sign(Verdict.INCONCLUSIVE, task) == ":grey_question:"


def test_the_review_names_what_did_not_hold_first(tmp_path: Path) -> None:
    """A count alone sends a tired reader searching."""
    findings = (
        Finding(contract="table", term="Keys are unique", observed="50 rows too many", holds=False, action="Dedupe"),
        Finding(contract="state", term="State is kept", observed="nobody says", holds=None, action=""),
        Finding(contract="checkpoint", term="Commits come", observed="every 2 s", holds=True, action=""),
    )

    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        text, blocks = review_message(Story(store.journal).opens().reviews(*findings).incident)
    shown = [block.to_dict() for block in blocks]

    assert text == "Contract review: 1 of 3 terms did not hold"
    assert shown[1]["text"]["text"] == ":x: 1. *Keys are unique.* 50 rows too many. → Dedupe.\nOwner: nobody"
    assert shown[2]["text"]["text"] == "*Unknown*\n• *State is kept.* Nobody says."
    assert shown[3]["elements"][0]["text"] == "1 term held. The record has all of them."
    assert shown[4]["elements"][0]["text"]["text"] == "Change 1…"


def test_words_agree_with_their_number() -> None:
    """One row, two rows; a clause becomes a sentence."""
    assert [counted(1, "row"), counted(2300, "row")] == ["1 row", "2,300 rows"]
    assert [as_sentence("told dana"), as_sentence("Why?"), as_sentence("")] == ["Told dana.", "Why?", ""]


def test_people_are_found_in_the_record_once() -> None:
    """Each id is asked for once, wherever it stands."""
    assert users_in(['{"by":"U0ANA00001"}', "<@U0BEN00002> and <@U0ANA00001>"]) == ("U0ANA00001", "U0BEN00002")


def test_code_that_is_cut_between_two_parts_is_code_in_both() -> None:
    """A long code block is closed where a part ends and opened where the next begins; a cut line closes its own."""
    block = ["```", *[f"line {number:04d} of what can be pasted" for number in range(200)], "```", "After."]
    line = ", ".join(f"`{number:019d}`" for number in range(300))

    parts = pages("\n".join(block))
    cut = pages(line)

    assert len(parts) > 1
    assert all(part.count("```") % 2 == 0 for part in parts)
    assert parts[-1].endswith("```\nAfter.")
    assert len(cut) > 1
    assert all(part.count("`") % 2 == 0 for part in cut)
    assert all(f"{number:019d}" in "".join(cut) for number in range(300))


NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)


def dated(at: int, form: str, otherwise: str) -> str:
    """A date as Slack takes it."""
    return f"<!date^{at}^{form}|{otherwise}>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at 14:02:11 UTC", f"at {dated(1793714531, '{time_secs}', '14:02:11 UTC')}"),
        ("by 5 Nov, 14:02 UTC.", f"by {dated(1793887320, '{time} {date_short_pretty}', '5 Nov, 14:02 UTC')}."),
        (
            "from 2 Nov 2026, 09:00:12 to 09:12:45 UTC",
            f"from {dated(1793610012, '{time_secs} {date_short_pretty}', '2 Nov 2026, 09:00:12 UTC')}"
            f" to {dated(1793610765, '{time_secs}', '09:12:45 UTC')}",
        ),
        ("31 Feb 2026, 10:00 UTC", "31 Feb 2026, 10:00 UTC"),
        ("09:00 to 25:00 UTC", "09:00 to 25:00 UTC"),
        ("09:00 to 09:12 UTC on 2026-11-02", "09:00 to 09:12 UTC on 2026-11-02"),
        ("`14:02 UTC` ```\n14:02 UTC``` <https://a|14:02 UTC>", "`14:02 UTC` ```\n14:02 UTC``` <https://a|14:02 UTC>"),
    ],
)
def test_a_reader_sees_times_in_their_own_zone(text: str, shown: str) -> None:
    """Those of one sentence all or none of them; code and links stay as they are."""
    with read_at(NOON):
        assert written(text).text == shown


def test_a_time_of_an_unknown_day_and_a_text_without_room_stay_in_utc() -> None:
    """A guess would be another time; a text that Slack refuses is none."""
    assert written("at 14:02 UTC").text == "at 14:02 UTC"
    with read_at(NOON):
        assert written(f"at 14:02 UTC{'x' * 100}", most=120).text.startswith("at 14:02 UTC")

"""`waterline commits`, windows of commits and the scripted walk in the terminal."""

import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import psutil
import pytest
from rich.console import Console
from rich.table import Table

from bot.cli.tables import grid_of, ledger_grid, missing_grid
from bot.cli.walk import Transcript, Walk
from bot.incident.asked import asked_window
from bot.observation.errors import Refused
from bot.observation.flink import CheckpointKind
from bot.observation.ids import CheckpointId, short
from bot.observation.ledger import Ledger, SkippedCheckpoint, SkipReason
from bot.observation.table import TableState
from bot.workspace import NotShown, SeenMessage, Workspace
from tests import orders_table as orders
from tests.cases import Tale
from tests.slack.people import eventually


def printed(grid: Table | None) -> str:
    """What a wide terminal shows."""
    wide = Console(width=300, highlight=False)
    with wide.capture() as told:
        wide.print(grid)
    return told.get()


def with_gaps() -> Ledger:
    """Run B's checkpoint 8 leaked, and Flink completed 12 to 13 that the sink refuses."""
    leaked = SkippedCheckpoint(
        first=CheckpointId(8), last=CheckpointId(8), reason=SkipReason.LEAKED, detail="its manifest is there",
        job_id=orders.RUN_B,
    )  # fmt: skip
    refused = leaked.model_copy(
        update={"first": 12, "last": 13, "reason": SkipReason.SKIPPED, "detail": "the table carries more"}
    )
    plain = orders.ledger()
    newest = plain.rows[-1].model_copy(update={"skipped": (leaked,), "refs": ("main", "wl-1-left")})
    return Ledger(rows=(*plain.rows[:-1], newest), readers_known=True, trailing=(refused,))


def test_missing_checkpoints_stand_beside_their_commit_and_by_themselves() -> None:
    """With the reason, with what showed it, and with the run; refs are named."""
    ledger = with_gaps()

    rows, missing = printed(ledger_grid(ledger, orders.NINE)), printed(missing_grid(ledger))

    assert "8 leaked" in rows
    assert "main, wl-1-left" in rows
    assert ["b92e04", "8", "leaked", "its manifest is there"] == _cells(missing, "leaked")
    assert ["b92e04", "12–13", "skipped", "the table carries more"] == _cells(missing, "skipped")


def test_a_chain_without_gaps_has_no_second_table() -> None:
    """And no empty columns."""
    ledger = orders.ledger()

    assert missing_grid(ledger) is None
    assert "missing before" not in printed(ledger_grid(ledger, orders.NINE))


def test_a_checkpoint_of_unknown_kind_is_marked() -> None:
    """Neither Flink's history nor storage tells whether it was a savepoint."""
    plain = orders.ledger()
    told = plain.rows[-1].model_copy(update={"checkpoint_kind": CheckpointKind.UNKNOWN})
    ledger = plain.model_copy(update={"rows": (*plain.rows[:-1], told)})

    cells = [_cells(printed(ledger_grid(each, orders.NINE)), str(told.snapshot_id)[-6:]) for each in (ledger, plain)]

    assert [f"{told.checkpoint_id}?" in cells[0], f"{told.checkpoint_id}" in cells[1]] == [True, True]


def test_readers_that_nobody_could_ask_for_are_not_told_as_none() -> None:
    """A question mark is not an empty cell."""
    assert "?" in _cells(printed(ledger_grid(orders.ledger(readers_known=False), orders.NINE)), "377421")[-1]


def test_times_carry_their_day_where_not_all_are_of_one() -> None:
    """Of the commits and of the look."""
    ledger = orders.ledger()

    same, later = (printed(ledger_grid(ledger, at)) for at in (orders.NINE, orders.NINE + timedelta(days=1)))

    assert ("08:50:00", "2026-11-03 08:50:00") == (_cells(same, "377421")[0], _cells(later, "377421")[0])


def _cells(table: str, holding: str) -> list[str]:
    """The cells of the one line that holds the text."""
    [line] = [line for line in table.splitlines() if holding in line.split("…")[0]]
    return [cell.strip() for cell in re.split(r"│|  +", line.strip("│┃ ")) if cell.strip()]


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_cuts_no_snapshot_id(width: int) -> None:
    """Ids are copied from here; what else does not fit is wrapped."""
    ledger = with_gaps()
    terminal = Console(width=width, highlight=False)

    with terminal.capture() as told:
        terminal.print(ledger_grid(ledger, orders.NINE))

    words = told.get().split()
    assert [str(row.snapshot_id) in words for row in ledger.rows] == [True] * len(ledger.rows)
    assert max(map(len, told.get().splitlines())) <= width


def test_a_cell_is_text_and_no_markup() -> None:
    """A path in brackets is shown as it is."""
    assert "[/chk-7]" in printed(grid_of(("path",), (("[/chk-7]",),)))


def _table() -> tuple[Tale, TableState]:
    """Ten commits of run a, ten seconds apart."""
    tale = Tale().commits("a", *range(1, 11))
    return tale, tale.table


TEN, TABLE = _table()


def _at(checkpoint: int, *, later_s: int = 0) -> str:
    """When it was committed, or later."""
    return (TABLE.by_id[TEN.at("a", checkpoint)].committed_at + timedelta(seconds=later_s)).isoformat()


@pytest.mark.parametrize(
    ("text", "checkpoints"),
    [
        pytest.param(f"{TEN.at('a', 4)}", [5, 6, 7, 8, 9, 10], id="after that commit, to the head"),
        pytest.param(f"{TEN.at('a', 4)}..{TEN.at('a', 6)}", [5, 6], id="the first exclusive, the second inclusive"),
        pytest.param(f"..{TEN.at('a', 3)}", [1, 2, 3], id="everything up to that commit"),
        pytest.param("35s", [7, 8, 9, 10], id="the last 35 seconds"),
        pytest.param(f"{_at(2)}..{_at(5, later_s=3)}", [3, 4, 5], id="a commit at the lower time is below"),
        pytest.param(f"{_at(8).removesuffix('+00:00')}..", [9, 10], id="a time without zone is UTC"),
        pytest.param(f"{_at(4, later_s=1)}..{_at(4, later_s=3)}", [], id="nothing came in that time: no mistake"),
    ],
)
def test_a_window_holds_the_commits_between_its_ends(text: str, checkpoints: list[int]) -> None:
    """Ids, times and an age, either end open."""
    assert checkpoints == [s.checkpoint_id for s in asked_window(text, TABLE).of(TABLE)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        *((text, r"names no window.*snapshot ids") for text in ("yesterday", "", "12 parsecs", "abc..def", "720²")),
        ("42", "lists no snapshot 42"),
        ("..2001-01-01T00:00:00", "The oldest that main still lists"),
    ],
)
def test_what_is_no_window_of_the_table_is_refused(text: str, says: str) -> None:
    """A typing error never becomes some other window, and an expired id is not silently the beginning."""
    with pytest.raises(Refused, match=says):
        asked_window(text, TABLE)


def test_the_last_six_digits_are_enough_where_one_snapshot_has_them() -> None:
    """Messages show no more of an id; fewer digits, or a second snapshot that ends so, name none."""
    table = _named(8440393201885720061, 8440393201885720062, 8440393201995720061)

    window = asked_window("…720062", table)

    assert window.since == 8440393201885720062
    assert asked_window("720062..", table) == window
    with pytest.raises(Refused, match=r"lists 2 snapshots .* end with 720061\..*Write the whole id"):
        asked_window("720061", table)
    with pytest.raises(Refused, match="lists no snapshot 20062"):
        asked_window("20062", table)


def _named(*ids: int) -> TableState:
    """A chain of commits with these ids."""
    _tale, table = _table()
    chain = [
        commit.model_copy(update={"snapshot_id": each, "parent_id": parent})
        for commit, each, parent in zip(table.snapshots, ids, (None, *ids), strict=False)
    ]
    return table.model_copy(update={"snapshots": tuple(chain), "head": ids[-1]})


def test_an_end_that_main_was_rolled_back_from_is_refused() -> None:
    """No answer about it is one about main; what main lost is of every window around it anyway."""
    tale = Tale().commits("a", 1, 2, 3, 4).rolls_back_to("a", 2).commits("b", 3)

    with pytest.raises(Refused, match=r"not on main.*End the window at a commit on main"):
        asked_window(f"{tale.at('a', 1)}..{tale.at('a', 4)}", tale.table)


@pytest.mark.parametrize("form", ["ids", "times", "a time and an id"])
def test_a_beginning_above_the_end_is_refused(form: str) -> None:
    """Two ends the wrong way round would make an empty window, in which nothing is wrong."""
    tale, table = _table()
    end = tale.at("a", 2)
    later, earlier = (table.by_id[tale.at("a", n)].committed_at.isoformat() for n in (4, 2))
    text = {"ids": f"{tale.at('a', 4)}..{end}", "times": f"{later}..{earlier}", "a time and an id": f"{later}..{end}"}

    with pytest.raises(Refused, match=r"begins above its end.*Turn the two round"):
        asked_window(text[form], table)


def test_a_beginning_that_main_was_rolled_back_from_is_understood() -> None:
    """The window then begins where main left its line, and holds what main lost above."""
    tale = Tale().commits("a", 1, 2, 3, 4).rolls_back_to("a", 2).commits("b", 3, 4)

    window = asked_window(f"{tale.at('a', 3)}..{tale.at('b', 3)}", tale.table)

    assert [tale.at("a", 3), tale.at("a", 4), tale.at("b", 3)] == [s.snapshot_id for s in window.of(tale.table)]


def test_a_beginning_whose_line_main_left_above_the_end_is_refused() -> None:
    """Where main left the line is where the window would begin."""
    tale = Tale().commits("a", 1, 2, 3, 4).rolls_back_to("a", 3).commits("b", 4)

    with pytest.raises(Refused, match=f"main left the line of {short(tale.at('a', 4))} at {short(tale.at('a', 3))}"):
        asked_window(f"{tale.at('a', 4)}..{tale.at('a', 2)}", tale.table)


class _Refusing:
    """Everybody at once, of an incident at the end of its runbook whose close is refused in the form."""

    def __init__(self) -> None:
        self.modal = SimpleNamespace(plain="Consumers wait for word.", submit=None)
        self.clicked = 0

    def person(self, _name: str) -> "_Refusing":
        """The same for all."""
        return self

    def clicks(self, _label: str, _card: object) -> None:
        self.clicked += 1

    def fills(self, _values: object) -> None:
        """A reason."""

    def submits(self) -> None:
        """It is refused."""

    def messages(self, _channel: str) -> list[SeenMessage]:
        """Nothing but the card, which never changes."""
        shown = {"author": "Waterline", "is_ephemeral": False}
        card = SimpleNamespace(
            **shown, plain="wl-1", at_first="wl-1", buttons=("Add a note…", "Close…"), replies=(), channel="C1", ts="1"
        )
        return [cast("SeenMessage", card)]


class _Impatient(Walk):
    click_patience_s = 0.1

    def _open(self) -> None:
        """It is open."""


def test_a_button_that_is_clicked_in_vain_ends_the_walk_with_what_the_form_says() -> None:
    """Twice is enough: it went on for as long as the walk had patience, and said nothing of the form."""
    world = _Refusing()
    walk = _Impatient(cast("Workspace", world), "missing-rows", lambda _line: None)

    with pytest.raises(NotShown, match=r"\[Close…\] changes nothing. The form shows: Consumers wait for word."):
        walk.run()

    assert world.clicked == 1


def said(*steps: list[tuple[str, str]]) -> list[str]:
    """The lines of a transcript; of each step (time stamp, text) of the messages that are there then."""
    lines: list[str] = []
    transcript = Transcript(lambda text: lines.extend(text.splitlines()))
    for step in steps:
        shown = [
            SimpleNamespace(
                channel="C1", ts=ts, plain=text, at_first=text, author="W", is_ephemeral=False, buttons=("Yes", "No")
            )
            for ts, text in step
        ]
        transcript.show(cast("list[SeenMessage]", shown), "oncall")
    return [line.strip() for line in lines]


def test_a_line_is_printed_once_and_figures_alone_are_no_change() -> None:
    """Of a message that is edited what is new; the buttons of a row are on one line; of a long one what is left is
    counted."""
    first = [("1", "At 09:00\nWaiting"), ("2", "Sure?\nYes\nNo")]
    long = "\n".join(f"line {chr(97 + n)}" for n in range(20))

    lines = said(first)
    later = said(first, [("1", "At 09:01\nWaiting")], [("1", "At 09:02\nDone"), ("3", long)])

    assert ["W in #oncall: At 09:00", "Waiting", "W in #oncall: Sure?", "[Yes] [No]"] == lines
    assert [*lines, "W in #oncall: Done", "W in #oncall: line a"] == later[:6]
    assert "… 8 more lines" == later[-1]


_A_DEMO = """
import sys, time, types
from pathlib import Path
from bot.cli import demo
demo.sys = types.SimpleNamespace(executable=sys.argv[1])
tokens = types.SimpleNamespace(bot_token="", app_token="")
with demo.bot_process(Path("waterline.yaml"), tokens, Path(sys.argv[2])) as bot:
    print(bot.process.pid, flush=True)
    time.sleep(300)
"""


def test_the_bot_ends_with_a_demo_that_is_killed(tmp_path: Path) -> None:
    """Not even kill -9 leaves it behind, and its token with it."""
    bot = tmp_path / "bot"
    bot.write_text("#!/bin/sh\nexec sleep 300\n", encoding="ascii")
    bot.chmod(0o700)
    command = [sys.executable, "-c", _A_DEMO, str(bot), str(tmp_path / "bot.log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        pid = int(demo.stdout.readline())
        assert psutil.Process(pid).is_running()
        demo.kill()

    eventually(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)

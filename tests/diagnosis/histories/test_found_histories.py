"""Histories that long hunts have found, in which an answer was wrong once; each reduced to what it takes.

They stand in `tests/data/found_histories.txt`, by what was wrong. A story is a label and, indented below it, between
bars: its seed, the sink where it is not V2, what else differs in setting or plan, the events with their numbers, and
those that came `then` or `meanwhile`.
"""

import re
from ast import literal_eval
from pathlib import Path
from typing import Any

import pytest

from bot.incident.diagnosis import Remedy
from tests.diagnosis.histories.drawn import Event, Plan, played
from tests.diagnosis.histories.held import answered, false_alarms, wrongly_acquitted, wrongly_clean, wrongly_safe
from tests.diagnosis.histories.history import Setting
from tests.diagnosis.histories.truth import truth_of

_STORIES = Path(__file__).parents[2] / "data" / "found_histories.txt"


def plans(group: str) -> dict[str, Plan]:
    """Each story of the group by its label."""
    groups = dict(part.split("\n", 1) for part in _STORIES.read_text(encoding="utf-8").split("# ")[1:])
    told = re.split(r"\n(?! )", groups[group].strip())
    lines = (each.split("\n", 1) for each in told)
    return {label: _plan(*" ".join(story.split()).split(" | ")) for label, story in lines}


def _plan(seed: str, *parts: str) -> Plan:
    setting: dict[str, Any] = {}
    plan: dict[str, Any] = {"events": ()}
    for part in parts:
        key, is_given, value = part.partition("=")
        first, _, later = part.partition(" ")
        if is_given:
            (setting if key in Setting._fields else plan)[key] = value if key == "lists" else literal_eval(value)
        elif part in {"V1", "dynamic"}:
            setting["sink"] = part
        elif first in {"then", "meanwhile"}:
            plan[first] = _events(later)
        else:
            plan["events"] = _events(part)
    return Plan(int(seed), Setting(**setting), **plan)


def _events(told: str) -> tuple[Event, ...]:
    parted = (each.split(" ", 1) for each in told.split("; "))
    return tuple(Event(int(number), name) for number, name in parted)


FOUND = plans("FOUND")
FOUND_FORGOTTEN_FOUND = plans("FOUND_FORGOTTEN_FOUND")
FOUND_MEANWHILE_FOUND = plans("FOUND_MEANWHILE_FOUND")
FOUND_STARTS_FOUND = plans("FOUND_STARTS_FOUND")
WRONG = (FOUND, FOUND_FORGOTTEN_FOUND, FOUND_MEANWHILE_FOUND, FOUND_STARTS_FOUND)


@pytest.mark.parametrize("plan", [pytest.param(plan, id=label) for found in WRONG for label, plan in found.items()])
def test_no_answer_is_too_safe_any_more(plan: Plan) -> None:
    """Rows are lost or doubled in each, or will be."""
    drawn = played(plan)

    assert truth_of(drawn.history).is_wrong
    assert () == wrongly_safe(drawn)


ACQUITTED = tuple(plans("ACQUITTED").items())


@pytest.mark.parametrize(("label", "plan"), ACQUITTED, ids=[label for label, _ in ACQUITTED])
def test_the_mode_that_may_hold_is_open(label: str, plan: Plan) -> None:
    """The one before the colon says what is missing; nobody is told of wrong rows with nothing left to ask."""
    drawn = played(plan)

    assert truth_of(drawn.history).is_wrong
    assert () == wrongly_acquitted(drawn)
    assert label.split(":")[0] in {mode.code for mode, _ in (*answered(drawn).undecided, *answered(drawn).matches)}


def test_ids_alone_accuse_no_run_of_a_rollback_where_every_position_was_found() -> None:
    """Flink is down, and the compaction makes the look at positions an old one."""
    events = (
        Event(1, "a checkpoint"),
        Event(3, "table and job rewound together"),
        Event(5, "a standby JobManager takes over"),
        Event(6, "a checkpoint"),
    )
    drawn = played(Plan(12504, Setting("V1"), events, then=(Event(7, "a compaction"),), flink_is_down=True))

    assert () == false_alarms(drawn)
    missing = {mode.code: told.missing for mode, told in answered(drawn).undecided}
    assert any("missing_positions, once more" in each for each in missing["F6"])


REPLACED = (
    Event(0, "drained and started"),
    Event(1, "an intermediate savepoint"),
    Event(4, "started without state"),
    Event(5, "a quiet time"),
)
"""The second run reads 7 to 8 into a checkpoint and 9 beside it; the third begins at 10."""


@pytest.mark.parametrize("events", [REPLACED[:3], REPLACED], ids=["before it commits", "of empty commits alone"])
def test_its_rows_are_open_until_the_next_run_has_brought_some(events: tuple[Event, ...]) -> None:
    """A start without state may begin at the earliest: nobody knows yet whether it reads them again."""
    drawn = played(Plan(28774, Setting("V1"), events))

    assert () == wrongly_acquitted(drawn)
    missing = {mode.code: told.missing for mode, told in answered(drawn).undecided}
    assert "1 Flink manifest of it with 2 rows is still on storage" in missing["F5"][0]


@pytest.mark.parametrize("commits", [1, 2])
def test_then_they_are_lost_and_are_appended_from_its_manifest(commits: int) -> None:
    """F5 alone says so: F3 would say that it was restored from below what is committed."""
    events = (*REPLACED, *(Event(6 + each, "a checkpoint") for each in range(commits)))
    told = answered(played(Plan(28774, Setting("V1"), events)))
    assert [mode.code for mode, _ in told.matches] == ["F5"]
    assert told.matches[0][1].remedy is Remedy.RECOVER_LEAKED_MANIFESTS
    reasons = {mode.code: each.reason for mode, each in told.excluded}
    assert "the sink lost them" in reasons["F18"]


def test_without_an_intermediate_checkpoint_there_is_nothing_of_it() -> None:
    """The run wrote no file that waits: what was not read is the source's gap (F18)."""
    events = (REPLACED[0], *REPLACED[2:], Event(6, "a checkpoint"))
    drawn = played(Plan(28774, Setting("V1"), events))

    assert "F5" not in {mode.code for mode, _ in (*answered(drawn).matches, *answered(drawn).undecided)}
    assert "F18" in {mode.code for mode, _ in answered(drawn).matches}


FOUND_ALARMS_FOUND = plans("FOUND_ALARMS_FOUND")


@pytest.mark.parametrize("plan", FOUND_ALARMS_FOUND.values(), ids=FOUND_ALARMS_FOUND)
def test_nobody_is_accused(plan: Plan) -> None:
    """Every row lives once."""
    drawn = played(plan)

    assert not truth_of(drawn.history).is_wrong
    assert () == false_alarms(drawn)


def test_what_is_missing_is_said() -> None:
    """The first rows that come since tell where it began."""
    drawn = played(FOUND_STARTS_FOUND["of a run that is over, of which no details are left, and that brought no row"])

    missing = {mode.code: told.missing for mode, told in answered(drawn).undecided}
    assert missing["healthy"]


CALLED_CLEAN = plans("CALLED_CLEAN")


@pytest.mark.parametrize("plan", CALLED_CLEAN.values(), ids=CALLED_CLEAN)
def test_no_snapshot_is_called_clean_that_is_not(plan: Plan) -> None:
    """Of a match that names the newest one before its fault."""
    assert () == wrongly_clean(played(plan))

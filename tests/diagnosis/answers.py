"""Tables of what modes have to answer: the story in words -> a mode, a case, and what must be true of the answer."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from bot.history.case import Case
from bot.incident.diagnosis import CannotTell, Examined, Excluded, Matches, Remedy
from bot.observation.ids import SnapshotId
from tests.cases import job_id


class LastGood(NamedTuple):
    """The match names this commit: `a3` is the newest of run a's checkpoint 3, `head` the head; None: it names none."""

    commit: str | None


class Rows(NamedTuple):
    """The match shows these commits, and no others, as `a3 a4 b4`."""

    commits: str


class WrongRun(NamedTuple):
    """The match names this run, or none."""

    run: str | None


class Asks(NamedTuple):
    """The answer asks for this evidence and no other, or for none."""

    task: str | None = None


class Unsaid(NamedTuple):
    """The answer does not say so."""

    words: str


def answer_table(stories: Mapping[str, tuple[Any, ...]]) -> pytest.MarkDecorator:
    """Each story as (mode, case, expected...): see `check`."""
    rows = [(mode, case, expected) for mode, case, *expected in stories.values()]
    return pytest.mark.parametrize(("mode", "case", "expected"), rows, ids=stories)


def check(mode: Any, case: Case, expected: list[Any]) -> None:
    """What is expected is the kind of answer, its remedy, words in it, and the fields above."""
    found = mode.examine(case)

    for each in expected:
        match each:
            case Remedy():
                assert each is found.remedy
            case str():
                assert each in in_words(found)
            case Unsaid(words=words):
                assert words not in in_words(found)
            case LastGood(commit=commit):
                assert commit_named(case, commit) == found.last_good
            case Rows(commits=commits):
                assert tuple(commit_named(case, each) for each in commits.split()) == found.rows
            case WrongRun(run=run):
                assert (None if run is None else job_id(run)) == found.wrong_run
            case Asks(task=task):
                assert (() if task is None else (task,)) == found.asks
            case _:
                assert isinstance(found, each), found


def in_words(found: Examined) -> str:
    """All that it says."""
    match found:
        case Matches(headline=headline, reasons=reasons):
            return " ".join((headline, *reasons, found.what_to_do))
        case Excluded(reason=reason):
            return reason
        case CannotTell(missing=missing):
            return " ".join(missing)


def commit_named(case: Case, name: str | None) -> SnapshotId | None:
    """By run and checkpoint, as `LastGood` has it."""
    table = case.observation.table
    if name is None or name == "head":
        return table.head if name else None
    mine = [s for s in table.snapshots if s.job_id == job_id(name[0]) and s.checkpoint_id == int(name[1:])]
    return mine[-1].snapshot_id

"""Files that were missing once are told again only after another look: they come back, or a repair drops them."""

from datetime import timedelta

import pytest

from bot.diagnosis import cleanup_deleted_files as f9
from bot.diagnosis import recovered_by_itself
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches
from bot.domain.evidence import Evidence, Verdict
from bot.domain.ids import EvidenceId
from bot.domain.table import Window
from tests.cases import Tale
from tests.diagnosis.test_missing_older_file import lost

ASKED = ("missing_files",)


def looked(case: Case, task: str, minutes_ago: float, finding: object = None) -> Case:
    """The case with that task's answer of its head, so long ago."""
    table = case.observation.table
    evidence = Evidence.model_validate(
        {
            "id": EvidenceId(task), "task": task, "task_version": 1, "question": "Is it?", "headline": "It is.",
            "verdict": Verdict.INCONCLUSIVE if finding is None else Verdict.CONFIRMED, "finding": finding,
            "metadata_location": table.metadata_location, "head": table.head, "took_ms": 1, "bytes_read": 0,
            "window": Window(since=None, until=table.head), "at": table.read_at - timedelta(minutes=minutes_ago),
        }
    )  # fmt: skip
    return case.model_copy(update={"evidence": (*case.evidence, evidence)})


def gone(tale: Tale, minutes_ago: float) -> Case:
    """A file of the first commit was missing then."""
    found = lost(tale.at("a", 1))
    return looked(tale.looked_at(missing_files=found), "missing_files", minutes_ago, found)


def tale_of() -> Tale:
    """A job that is well."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3)


def test_a_fresh_look_accuses() -> None:
    """Also while the job goes on committing on top of it: that brings no file back."""
    tale = tale_of()
    case = gone(tale, 1)
    newer = tale.commits("a", 4).looked_at(missing_files=case.missing_files)

    for each in (case, newer.model_copy(update={"evidence": case.evidence})):
        assert isinstance(f9.examine(each), Matches)
        assert isinstance(recovered_by_itself.examine(each), Excluded)


def test_an_old_look_is_asked_for_again() -> None:
    """Somebody may have restored the file: nothing in the table would show it."""
    for mode in (f9, recovered_by_itself):
        found = mode.examine(gone(tale_of(), 11))

        assert isinstance(found, CannotTell)
        assert found.asks == ASKED
        assert "then 1 file was missing" in found.missing[0]


def test_a_repair_that_was_published_has_it_asked_again() -> None:
    """Its commit is by another writer than the job, and may have dropped the reference."""
    tale = tale_of()
    case = gone(tale, 1)
    repaired = tale.commits(None, operation="delete").looked_at(missing_files=case.missing_files)

    found = f9.examine(repaired.model_copy(update={"evidence": case.evidence}))

    assert isinstance(found, CannotTell)
    assert found.asks == ASKED


def test_a_later_look_at_these_very_commits_is_believed() -> None:
    """The window's files were all there afterwards: the older answer is asked again, not repeated."""
    case = looked(gone(tale_of(), 5), "unreadable_files", 1, lost())

    found = f9.examine(case)

    assert isinstance(found, CannotTell)
    assert found.asks == ASKED
    assert "unreadable_files has found every file of these commits since" in found.missing[0]


@pytest.mark.parametrize("mode", [f9, recovered_by_itself])
def test_a_second_look_that_could_not_look_is_no_release(mode: object) -> None:
    """And it is not asked again by itself, for it would be refused again."""
    found = mode.examine(looked(tale_of().looked_at(), "missing_files", 1))  # type: ignore[attr-defined]

    assert isinstance(found, CannotTell)
    assert found.asks == ()
    assert found.missing[0].startswith("missing_files (it ran and could not answer")

"""What says that rows are wrong is told by itself beside what asks for a restore of the job: trust is judged by it."""

from datetime import timedelta

import pytest

from bot.domain.diagnosis import Act, Diagnosis, Matches, Mode, ModeResult, Remedy
from bot.service.watch_signs import signs_in
from tests.watch.recorded import Recorded

pytestmark = pytest.mark.smoke


def _found(code: str, act: Act, remedy: Remedy) -> ModeResult:
    mode = Mode(code=code, name=code, title=code, needs=(), false_positives=(), neighbours={}, act=act)
    match = Matches(headline=f"It is {code}.", reasons=(), rows=(), last_good=None, wrong_run=None, remedy=remedy)
    return ModeResult(mode=mode, examined=match)


def test_wrong_rows_beside_a_job_that_cannot_restart_are_told_by_themselves() -> None:
    """The job is acted on first; the third stands for nothing of its own."""
    job = _found("F8", Act.RECOVER, Remedy.RESTORE_JOB_ONLY)
    rows = _found("F1", Act.REPAIR, Remedy.DROP_DUPLICATED_COMMIT)
    more = _found("F15", Act.REPAIR, Remedy.DEDUPLICATE_ROWS)
    case = Recorded("last-commit-expired-v2").case

    signs = signs_in(case, Diagnosis(results=(job, rows, more)), patience=timedelta(hours=1))

    assert [(each.code, each.rows_are_right) for each in signs.told[:2]] == [("F8", True), ("F1", False)]
    assert signs.told[0].also == ("F1: It is F1.", "F15: It is F15.")
    assert "F15" in signs.beside
    assert not {"F1", "F8"} & signs.beside


def test_wrong_rows_that_come_first_stand_for_the_rest() -> None:
    """One message, as before."""
    fork = _found("F13", Act.CONTAIN, Remedy.RESOLVE_FORK)
    job = _found("F8", Act.RECOVER, Remedy.RESTORE_JOB_ONLY)
    case = Recorded("last-commit-expired-v2").case

    signs = signs_in(case, Diagnosis(results=(fork, job)), patience=timedelta(hours=1))

    assert signs.told[0].code == "F13"
    assert "F8" in signs.beside

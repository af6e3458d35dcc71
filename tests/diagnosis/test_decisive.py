"""Which match a decision follows: what is only worth knowing never stands for health."""

from bot.diagnosis import checkpoints_failed, event_time_stuck, recovered_by_itself
from bot.domain.diagnosis import CannotTell, Diagnosis, Matches, Mode, ModeResult, Remedy


def said(mode: Mode, remedy: Remedy) -> ModeResult:
    """The mode matches and asks for that."""
    matched = Matches(headline="It is so.", reasons=(), rows=(), last_good=None, wrong_run=None, remedy=remedy)
    return ModeResult(mode=mode, examined=matched)


UNSURE = ModeResult(mode=recovered_by_itself.MODE, examined=CannotTell(missing=("duplicate_rows",)))


def test_a_note_that_asks_for_nothing_decides_nothing() -> None:
    """A failed checkpoint beside a table of which nobody can tell must not become the all-clear."""
    diagnosis = Diagnosis(results=(said(checkpoints_failed.MODE, Remedy.NOTHING), UNSURE))

    assert diagnosis.decisive is None


def test_health_decides_beside_a_note() -> None:
    """The rows are right, and a checkpoint failed: nothing to do."""
    note, health = said(checkpoints_failed.MODE, Remedy.NOTHING), said(recovered_by_itself.MODE, Remedy.NOTHING)

    decisive = Diagnosis(results=(note, health)).decisive

    assert decisive is not None
    assert recovered_by_itself.MODE == decisive[0]


def test_right_rows_are_no_all_clear_where_consumers_must_be_told() -> None:
    """Events older than promised beside an unbroken chain: the rows are right, and consumers wait in vain."""
    late, health = said(event_time_stuck.MODE, Remedy.TELL_CONSUMERS), said(recovered_by_itself.MODE, Remedy.NOTHING)

    decisive = Diagnosis(results=(late, health)).decisive

    assert decisive is not None
    assert event_time_stuck.MODE == decisive[0]


def test_a_note_that_asks_for_something_is_followed() -> None:
    """Where nothing else holds, consumers are told what is known."""
    decisive = Diagnosis(results=(said(checkpoints_failed.MODE, Remedy.TELL_CONSUMERS), UNSURE)).decisive

    assert decisive is not None
    assert Remedy.TELL_CONSUMERS == decisive[1].remedy

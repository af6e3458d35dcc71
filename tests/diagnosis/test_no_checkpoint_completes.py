"""A run that completes no checkpoint any more brings nothing to the table, though Flink shows it well and nothing
failed. It was called healthy for hours."""

from datetime import timedelta
from typing import Any

import pytest

import bot.diagnosis
from bot.diagnosis import checkpoints_failed, recovered_by_itself
from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import scan
from bot.domain.contract import TableContract
from bot.domain.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.domain.flink import CheckpointKind, CheckpointSettings
from tests.cases import Tale

MODES = scan(bot.diagnosis)
MINUTE = timedelta(minutes=1)


def silent(lasts: timedelta, *, failed: tuple[int, ...] = ()) -> Tale:
    """Checkpoints 1 to 3 are committed, one every 3 s; then these fail and time passes."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).remembers("a", 1, 2, 3).completes("a", *failed)
    listed = tuple(
        c.model_copy(update={"status": "FAILED", "failure": "Checkpoint expired."}) if c.checkpoint_id in failed else c
        for c in tale.runs["a"].checkpoints
    )
    tale.now += lasts
    return told(tale, checkpoints=listed, failed_count=len(failed))


def told(tale: Tale, **fields: Any) -> Tale:
    """Flink tells this of the run."""
    tale.runs["a"] = tale.runs["a"].model_copy(update=fields)
    return tale


def test_hours_without_a_checkpoint_are_not_healthy() -> None:
    """Consumers are told that the table gets no rows; nothing is to be repaired."""
    diagnosis = diagnose(silent(timedelta(hours=5)).looked_at(), MODES)

    assert ("F20",) == diagnosis.codes
    assert diagnosis.decisive is not None
    assert Remedy.TELL_CONSUMERS is diagnosis.decisive[1].remedy
    assert "No checkpoint of run aaaaaa completed for 5 h 1 s, since checkpoint 3" in diagnosis.decisive[1].reasons[-1]
    assert "is not healthy" in diagnosis.nothing_matches


@pytest.mark.parametrize(
    ("lasts", "healthy", "failed"),
    [(MINUTE, Matches, Excluded), (5 * MINUTE, CannotTell, CannotTell), (11 * MINUTE, Excluded, Matches)],
)
def test_a_slow_checkpoint_is_told_from_none_once_it_would_have_failed(
    lasts: timedelta, healthy: type, failed: type
) -> None:
    """Between some intervals and Flink's limit of ten minutes nobody knows whether the next one comes."""
    case = silent(lasts).looked_at()

    assert isinstance(recovered_by_itself.examine(case), healthy)
    assert isinstance(checkpoints_failed.examine(case), failed)


@pytest.mark.parametrize(
    "settings",
    [CheckpointSettings(timeout_ms=3_600_000), CheckpointSettings(min_pause_ms=900_000)],
    ids=["limit", "pause"],
)
def test_the_runs_own_settings_decide_how_long_is_too_long(settings: CheckpointSettings) -> None:
    """A checkpoint may take an hour, or a quarter of an hour may lie between two."""
    case = told(silent(20 * MINUTE), settings=settings).looked_at()

    assert not isinstance(checkpoints_failed.examine(case), Matches)
    assert not isinstance(recovered_by_itself.examine(case), Excluded)


def test_without_an_interval_nobody_can_tell() -> None:
    """A batch job takes none either; what the contract says counts where Flink told nothing."""
    tale = told(silent(timedelta(hours=5)), checkpoint_interval_ms=None)
    case = tale.looked_at()
    promised = case.model_copy(
        update={"contract": TableContract(key=("id",), position="pos", checkpoint_every=timedelta(seconds=3))}
    )

    found = (recovered_by_itself.examine(case), checkpoints_failed.examine(case))

    assert all(isinstance(each, CannotTell) and "Flink tells of no interval" in each.missing[-1] for each in found)
    assert isinstance(checkpoints_failed.examine(promised), Matches)


def test_savepoints_are_no_checkpoints() -> None:
    """They commit nothing by themselves (facts 0.5)."""
    tale = silent(timedelta(hours=5)).completes("a", 4)
    newest, *older = tale.runs["a"].checkpoints
    told(tale, checkpoints=(newest.model_copy(update={"kind": CheckpointKind.SAVEPOINT}), *older))

    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Excluded)


@pytest.mark.parametrize("state", ["RESTARTING", "FAILED"])
def test_a_run_that_is_down_is_not_silent(state: str) -> None:
    """`wait` and `no-advance` tell of it; and one that was restored a moment ago has time."""
    down = silent(timedelta(hours=5)).becomes("a", state)
    restored = silent(timedelta(hours=5))
    listed = restored.runs["a"].checkpoints
    triggered = {"triggered_at": listed[0].triggered_at - MINUTE}
    told(restored.flink_runs("a", restored=3), checkpoints=[c.model_copy(update=triggered) for c in listed])

    assert isinstance(checkpoints_failed.examine(down.looked_at()), Excluded)
    assert isinstance(recovered_by_itself.examine(restored.looked_at()), Matches)


def test_a_commit_shows_what_flink_no_longer_lists() -> None:
    """The case may hold no checkpoint of the run at all."""
    tale = silent(timedelta(hours=5)).commits("a", 9_000)

    assert isinstance(checkpoints_failed.examine(tale.looked_at()), Excluded)


def test_two_failures_may_be_too_long_as_well() -> None:
    """Each expired after ten minutes; "no row is lost by that" was all that was said, beside `healthy`."""
    diagnosis = diagnose(silent(25 * MINUTE, failed=(4, 5)).looked_at(), MODES)

    ((mode, found),) = diagnosis.matches
    assert ("F20", Remedy.TELL_CONSUMERS) == (mode.code, found.remedy)
    assert "fail one after the other, so nothing reaches the table" in found.headline


def test_a_silence_after_failures_that_were_made_good_is_told_too() -> None:
    """The failures are over, the silence is not."""
    tale = silent(timedelta(0), failed=(4,)).completes("a", 5).commits("a", 5)
    tale.now += timedelta(hours=1)

    found = checkpoints_failed.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert Remedy.TELL_CONSUMERS is found.remedy
    assert "completes no checkpoint any more" in found.headline

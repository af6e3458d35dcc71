"""What the watch says where its own reading has limits: a writer that Flink does not list, a checkpoint that hangs."""

from datetime import timedelta

from bot.service.watch_signs import suspicion
from bot.service.watch_unnamed import silent_for, unnamed_signs
from tests.cases import Tale
from tests.diagnosis.test_worth_knowing import failing

PATIENCE = timedelta(minutes=10)


def test_nobody_is_said_to_write_while_somebody_does_whom_flink_does_not_list() -> None:
    """The job's run has failed, and a commit came after that: what is not known is said instead."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FAILED")
    [silent] = [s for s in unnamed_signs(tale.looked_at(), PATIENCE) if s.code == "no-advance"]
    [written] = [s for s in unnamed_signs(tale.commits("c", 3).looked_at(), PATIENCE) if s.code == "no-advance"]

    assert silent.headline.startswith("Nobody writes the table.")
    assert written.headline.startswith("Run aaaaaa is FAILED")
    assert any(reason.startswith("Not known is whether run cccccc still writes") for reason in written.reasons)


def test_a_checkpoint_that_hangs_is_worth_a_closer_look_once_it_has_lasted() -> None:
    """One failed, and none completes: nothing changes but the clock."""
    tale = failing(3)
    tale.runs["a"] = tale.runs["a"].model_copy(update={"checkpoint_interval_ms": 300_000})
    soon = tale.looked_at()
    tale.now += timedelta(minutes=25)
    later = tale.looked_at()

    assert silent_for(soon) is None
    assert silent_for(later) is None
    assert suspicion(soon) != suspicion(later)

"""Table and job were rewound together, and later the job was started from the state of what main had lost: what
explained the rollback explains it no more."""

import pytest

from bot.diagnosis import flink_is_recovering, rolled_back_while_running
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches
from bot.domain.rollbacks import Sequel, rollbacks
from bot.domain.suspicion import propose_window
from tests.cases import Tale, job_id
from tests.found import hole


def rewound(*again: int) -> Tale:
    """Table and job were rewound to 1; run d committed these, and was cancelled."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).becomes("a", "CANCELED").rolls_back_to("a", 1)
    tale.flink_runs("d").came_from("d", 1, f"s3://state/{job_id('a')}/chk-1").commits("d", *again)
    return tale.becomes("d", "CANCELED")


def starts(tale: Tale, checkpoint: int, *, of: str) -> Tale:
    """Run e, from a checkpoint of that run."""
    return tale.flink_runs("e").came_from("e", checkpoint, f"s3://state/{job_id(of)}/chk-{checkpoint}")


def looked(tale: Tale) -> Case:
    """Rows that main lost lie above every live one."""
    return tale.looked_at(gaps=hole(0).model_copy(update={"to_come": 20}))


@pytest.mark.parametrize("after", [(), (5, 6)], ids=["silent", "it has committed"])
@pytest.mark.parametrize("again", [(2,), (2, 3)])
def test_a_start_from_the_newest_checkpoint_of_the_old_line_leaves_a_hole(
    again: tuple[int, ...], after: tuple[int, ...]
) -> None:
    """What lies between what run d brought again and that checkpoint never comes."""
    tale = starts(rewound(*again), 4, of="a")
    tale = tale.commits("e", *after) if after else tale

    found = rolled_back_while_running.examine(looked(tale))

    assert isinstance(found, Matches)
    assert (tale.at("a", 1), job_id("e")) == (found.last_good, found.wrong_run)
    assert tale.at("a", 1) == propose_window(tale.table, tale.jobs).trusted
    assert isinstance(flink_is_recovering.examine(looked(tale)), Excluded)


def test_where_main_has_passed_that_checkpoint_again_ids_do_not_tell() -> None:
    """Its rows may be on main, or not: the positions tell."""
    tale = starts(rewound(2, 3, 4, 5), 4, of="a")
    silent = rolled_back_while_running.examine(looked(tale))
    (after,) = rollbacks(tale.commits("e", 6).table, tale.looked_at().runs)

    assert isinstance(silent, CannotTell)
    assert "restored from checkpoint 4" in silent.missing[0]
    assert Sequel.UNTOLD is after.sequel


@pytest.mark.parametrize(("checkpoint", "of"), [(2, "d"), (3, "d"), (1, "a")])
def test_a_start_from_the_new_line_or_the_target_leaves_none(checkpoint: int, of: str) -> None:
    """Run d's own checkpoints hold what it read again; the target's lies below all that main lost."""
    tale = starts(rewound(2), checkpoint, of=of)

    assert isinstance(rolled_back_while_running.examine(looked(tale)), Excluded)
    assert "rolled back" not in propose_window(tale.table, tale.jobs).because


def test_nor_does_a_failover_of_the_run_that_repeats_its_own() -> None:
    """Under one job id, its checkpoints bear the ids of those that main lost."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 1).flink_runs("a", restored=1)
    tale.commits("a", 2).completes("a", 3).came_from("a", 3, f"s3://state/{job_id('a')}/chk-3")

    assert isinstance(rolled_back_while_running.examine(looked(tale)), Excluded)

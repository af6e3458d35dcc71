"""The stories that the failure modes must tell apart, and the codes that each must get."""

from collections.abc import Callable

from bot.domain.diagnosis import Case
from bot.domain.findings import LeakStanding
from bot.domain.ids import DRAINED
from tests.cases import Tale
from tests.found import leaks


def healthy_without_failure() -> Case:
    return Tale().flink_runs("a").commits("a", 1, 2, 3, 4).looked_at()


def recovered_by_failover() -> Case:
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    return tale.flink_runs("a", restored=3).completes("a", 4, 5).commits("a", 4, 5).looked_at()


def redeployed_from_its_stop_savepoint() -> Case:
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=3).commits("b", 4, 5).looked_at()


def rewound_v2() -> Case:
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=6).commits("b", 7, 8).looked_at(duplicates=22)


def rewound_v2_and_silent() -> Case:
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=6).looked_at()


def rewound_v1_and_silent() -> Case:
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 11)).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=6, v1=True).completes("b", 7, 8).looked_at()


def rewound_v1_and_late() -> Case:
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 11)).becomes("a", "FINISHED")
    return (
        tale.flink_runs("b", restored=6, v1=True)
        .completes("b", 7, 8, 9, 10, 11)
        .commits("b", 11)
        .looked_at(duplicates=40)
    )


def restored_below_under_the_same_id() -> Case:
    tale = Tale().flink_runs("a").commits("a", *range(1, 11))
    return tale.flink_runs("a", restored=4).completes("a", 5, 6, 7).looked_at()


def rolled_back_while_running() -> Case:
    """As run on Flink 1.20.3: 3 committed, 4 to 21 rolled back, 22 to 24 on top of 3."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 22)).rolls_back_to("a", 3)
    return tale.commits("a", 22, 23, 24).looked_at(missing=1056)


def rolled_back_just_now() -> Case:
    return Tale().flink_runs("a").commits("a", *range(1, 8)).rolls_back_to("a", 3).looked_at()


def rewound_together() -> Case:
    """What the rewind itself leaves behind: nothing is wrong any more."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=6).commits("b", 7, 8, 9).becomes("b", "CANCELED").rolls_back_to("a", 6)
    return tale.flink_runs("c", restored=6).commits("c", 7, 8, 9, 10).looked_at()


def rewound_together_under_one_id() -> Case:
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).rolls_back_to("a", 5)
    return tale.flink_runs("a", restored=5).commits("a", 6, 7).looked_at()


def rewound_together_and_about_to_commit() -> Case:
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).becomes("a", "FINISHED").rolls_back_to("a", 5)
    return tale.flink_runs("b", restored=5).looked_at()


def starting_after_a_restore() -> Case:
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    return tale.flink_runs("a", restored=3, state="INITIALIZING").looked_at()


def recovering_now() -> Case:
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).fails("a")
    return tale.becomes("a", "RESTARTING").looked_at()


def failed_a_moment_ago() -> Case:
    return Tale().flink_runs("a").commits("a", 1, 2, 3).completes("a", 3).fails("a").looked_at()


def in_a_restart_loop() -> Case:
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).completes("a", 3).fails("a", times=4)
    return tale.becomes("a", "RESTARTING").looked_at()


def given_up() -> Case:
    return Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FAILED").looked_at()


def started_without_state() -> Case:
    tale = Tale().flink_runs("a").commits("a", *range(1, 6)).becomes("a", "CANCELED")
    return tale.flink_runs("b").commits("b", 1, 2, 3).looked_at(duplicates=30)


def two_jobs_at_once() -> Case:
    tale = Tale().flink_runs("a").commits("a", *range(1, 7)).flink_runs("b", restored=4)
    return tale.commits("b", 5).commits("a", 7).commits("b", 6).looked_at(duplicates=10)


def drained() -> Case:
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, DRAINED).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=3, v1=True).completes("b", 4, 5).looked_at()


def drained_with_one_task_for_all() -> Case:
    """As run on Flink 2.1 at parallelism 1: source, writer and committer are one vertex with the source's id."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, DRAINED).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=3, v1=True).completes("b", 4, 5).leaves_manifest("b", 4, 5)
    source = tale.runs["b"].vertices[0]
    whole = source.model_copy(update={"name": "Source: orders[40] -> IcebergStreamWriter -> IcebergFilesCommitter"})
    tale.runs["b"] = tale.runs["b"].model_copy(update={"vertices": (whole,)})
    return tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED))


def another_engine_deleted() -> Case:
    return Tale().flink_runs("a").commits("a", 1, 2).commits(None, operation="delete").commits("a", 3).looked_at()


def compacted() -> Case:
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits(None, operation="replace").counts(deleted_records=10)
    return tale.commits("a", 3).looked_at()


def withheld_without_a_known_cause() -> Case:
    return Tale().flink_runs("a").commits("a", 1, 2).completes("a", *range(3, 16)).looked_at()


STORIES: dict[Callable[[], Case], tuple[str, ...]] = {
    healthy_without_failure: ("healthy",),
    recovered_by_failover: ("healthy",),
    redeployed_from_its_stop_savepoint: ("healthy",),
    rewound_v2: ("F2",),
    rewound_v2_and_silent: ("F2",),
    rewound_v1_and_silent: ("F2", "F3"),
    rewound_v1_and_late: ("F2", "F3"),
    restored_below_under_the_same_id: ("F3",),
    rolled_back_while_running: ("F6",),
    rolled_back_just_now: ("F6",),
    rewound_together: ("healthy",),
    rewound_together_under_one_id: ("healthy",),
    rewound_together_and_about_to_commit: ("healthy",),
    starting_after_a_restore: ("wait",),
    recovering_now: ("wait",),
    failed_a_moment_ago: ("wait",),
    in_a_restart_loop: ("no-advance",),
    given_up: ("no-advance",),
    started_without_state: ("F15",),
    two_jobs_at_once: ("F13",),
    drained: ("F5",),
    drained_with_one_task_for_all: ("F5",),
    another_engine_deleted: ("F21",),
    compacted: ("healthy",),
    withheld_without_a_known_cause: (),
}

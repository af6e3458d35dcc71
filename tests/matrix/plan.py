"""What the matrix runs: each story with the sinks, formats and versions where it tells something, and what is expected.

`expected` codes must be among those that match; `besides` may be. Codes are those of the catalogue of failure modes.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from bot.lab.flink_cluster import Backend
from bot.lab.home import Stack
from bot.lab.jars import Flink
from bot.lab.orders import Format, Sink


class Run(BaseModel):
    """One story on one kind of lab."""

    model_config = ConfigDict(frozen=True)

    story: str
    sink: Sink
    expected: tuple[str, ...]
    besides: tuple[str, ...] = ()
    flink: Flink = "2.1"
    format_version: Format = 2
    upsert: bool = False
    taskmanagers: int = 1
    parallelism: int = 1
    backend: Backend = "hashmap"
    wired: bool = False
    """With a wire between JobManager and TaskManagers, which the story cuts."""
    stack: Stack = "small"
    wrongly: tuple[str, ...] | None = None
    """What is said today where it is not what is expected; a saved case may say this until it is mended."""
    made: Literal["real", "constructed"] = "real"
    """Constructed: one thing was done by hand that no program of this lab does."""

    @property
    def name(self) -> str:
        """`restored-after-drain-v1`, with what is not the default behind it."""
        others = (
            f"flink{self.flink}" if self.flink != "2.1" else "",
            f"format{self.format_version}" if self.format_version != 2 else "",
            "upsert" if self.upsert else "",
            self.backend if self.backend != "hashmap" else "",
            self.stack if self.stack != "small" else "",
        )
        return "-".join(part for part in (self.story, self.sink, *others) if part)


_TOLD_ONLY = ("F19", "F20", "F22", "F24")
"""No faults of their own; a busy machine makes some of them by itself."""


def _both(story: str, v1: tuple[str, ...], v2: tuple[str, ...], besides: tuple[str, ...] = ()) -> tuple[Run, Run]:
    return (
        Run(story=story, sink="v2", expected=v2, besides=(*_TOLD_ONLY, *besides)),
        Run(story=story, sink="v1", expected=v1, besides=(*_TOLD_ONLY, *besides)),
    )


def _one(story: str, sink: Sink, *expected: str, besides: tuple[str, ...] = ()) -> Run:
    return Run(story=story, sink=sink, expected=expected, besides=(*_TOLD_ONLY, *besides))


def _on_kafka(
    story: str, *expected: str, sink: Sink = "v2", besides: tuple[str, ...] = (), wrongly: tuple[str, ...] | None = None
) -> Run:
    return Run(
        story=story,
        sink=sink,
        expected=expected,
        besides=(*_TOLD_ONLY, *besides),
        stack="kafka",
        wrongly=wrongly,
    )


RUNS: tuple[Run, ...] = (
    *_both("planned-restart", v1=("healthy",), v2=("healthy",)),
    *_both("task-manager-killed", v1=("healthy",), v2=("healthy",)),
    _one("restarting-slowly", "v2", "wait"),
    _one("planned-restart-native", "v2", "healthy"),
    _one("restored-from-older-savepoint", "v2", "F2"),
    _one("restored-from-older-savepoint", "v1", "F3", besides=("F2",)),
    _one("restored-older-same-job-id", "v2", "F3", besides=("F14",)),
    _one("restored-older-same-job-id", "v1", "F3", besides=("F14",)),
    *(run.model_copy(update={"made": "constructed"}) for run in _both("committed-twice", v1=("F1",), v2=("F1",))),
    _one("restarted-empty-same-job-id", "v2", "F4", besides=("F14", "F15")),
    _one("restarted-empty-same-job-id", "v1", "F15", besides=("F14",)),
    _one("restored-after-drain", "v1", "F5"),
    _one("restored-after-drain", "v2", "healthy"),
    *_both("rolled-back-while-running", v1=("F6",), v2=("F6",)),
    *_both("rolled-back-then-failed-over", v1=("F7",), v2=("F7",), besides=("no-advance", "wait")),
    *_both("last-commit-expired", v1=("F8",), v2=("F8",), besides=("F7", "no-advance", "wait")),
    _one("data-file-removed", "v2", "F9"),
    _one("metadata-file-removed", "v2", "F10", besides=("no-advance",)),
    _one("restored-under-another-uid", "v2", "F12"),
    *_both("forked-from-a-savepoint", v1=("F13",), v2=("F13",)),
    _one("job-id-of-zeros", "v2", "F14", besides=("healthy",)),
    _one("started-from-nothing", "v2", "F15", besides=("F2",)),
    _one("started-from-nothing", "v1", "F15", besides=("F2",)),
    _one("rescaled", "v2", "F19", besides=("healthy",)),
    *_both("checkpoints-failed", v1=("F20",), v2=("F20",), besides=("healthy",)),
    _one("deleted-by-spark", "v2", "F21"),
    _one("compacted-by-spark", "v2", "healthy"),
    _one("column-added", "v2", "F23", besides=("healthy",)),
    _one("checkpoint-folder-taken", "v2", "F25", besides=("F2", "F3", "F14")),
    _one("job-failed", "v2", "no-advance"),
    *_both("source-began-too-late", v1=("F18",), v2=("F18",), besides=("F15",)),
    *_both("attempt-left-a-file", v1=("F22",), v2=("F22",), besides=("healthy",)),
    *_both("event-time-stands-still", v1=("F24",), v2=("F24",), besides=("healthy",)),
    *(
        run.model_copy(update={"upsert": True})
        for run in _both("upsert-partitioning-changed", v1=("F17",), v2=("F17",))
    ),
    _one("upsert-writer-stuck", "v2", "F16").model_copy(update={"upsert": True, "taskmanagers": 2}),
    _one("late-files-replace-others", "v1", "F27").model_copy(update={"taskmanagers": 2, "parallelism": 2}),
    *(
        run.model_copy(update={"made": "constructed", "wired": True})
        for run in _both("notification-lost", v1=("F11",), v2=("F11",))
    ),
    _one("planned-restart", "dynamic", "healthy"),
    _one("task-manager-killed", "dynamic", "healthy"),
    _one("restored-from-older-savepoint", "dynamic", "F2"),
    _one("restarted-empty-same-job-id", "dynamic", "F4", besides=("F14", "F15")),
    _one("rolled-back-while-running", "dynamic", "F6"),
    _one("rolled-back-then-failed-over", "dynamic", "F7", besides=("no-advance", "wait")),
    _one("forked-from-a-savepoint", "dynamic", "F13"),
    Run(story="planned-restart", sink="v2", expected=("healthy",), besides=_TOLD_ONLY, upsert=True),
    Run(story="restored-from-older-savepoint", sink="v2", expected=("F2",), besides=_TOLD_ONLY, upsert=True),
    Run(story="restored-from-older-savepoint", sink="v2", expected=("F2",), besides=_TOLD_ONLY, format_version=3),
    Run(story="rolled-back-while-running", sink="v2", expected=("F6",), besides=_TOLD_ONLY, format_version=3),
    Run(story="restored-from-older-savepoint", sink="v2", expected=("F2",), besides=_TOLD_ONLY, flink="1.20"),
    Run(story="restored-from-older-savepoint", sink="v1", expected=("F3",), besides=("F2", *_TOLD_ONLY), flink="1.20"),
    Run(story="restored-after-drain", sink="v1", expected=("F5",), besides=_TOLD_ONLY, flink="1.20"),
    Run(
        story="rolled-back-then-failed-over",
        sink="v2",
        expected=("F7",),
        besides=("no-advance", "wait", *_TOLD_ONLY),
        flink="1.20",
    ),
    *(run.model_copy(update={"flink": "1.20"}) for run in _both("planned-restart", v1=("healthy",), v2=("healthy",))),
    _one("rolled-back-while-running", "v2", "F6").model_copy(update={"flink": "1.20"}),
    _one("restored-between-compactions", "v2", "F2"),
    *(
        run.model_copy(update={"upsert": True, "format_version": 3})
        for run in (
            _one("planned-restart", "v2", "healthy"),
            _one("restored-from-older-savepoint", "v2", "F2"),
            _one("upsert-partitioning-changed", "v2", "F17"),
        )
    ),
    *(
        run.model_copy(update={"format_version": 3})
        for run in (_one("deleted-by-spark", "v2", "F21"), _one("compacted-by-spark", "v2", "healthy"))
    ),
    _one("deleted-by-spark", "v1", "F21"),
    _one("column-added", "v1", "F23", besides=("healthy",)),
    _one("data-file-removed", "v1", "F9"),
    _one("metadata-file-removed", "v1", "F10", besides=("no-advance",)),
    _one("rolled-back-while-running", "v1", "F6").model_copy(update={"flink": "1.20"}),
    _one("planned-restart", "v2", "healthy").model_copy(update={"flink": "1.20", "upsert": True}),
    *_both("restarted-from-last-checkpoint", v1=("healthy",), v2=("healthy",)),
    *_both("restored-from-older-checkpoint", v1=("F3",), v2=("F2",), besides=("F2",)),
    *(
        run.model_copy(update={"backend": "rocksdb"})
        for run in (
            *_both("restarted-from-last-checkpoint", v1=("healthy",), v2=("healthy",)),
            _one("restored-from-older-checkpoint", "v2", "F2"),
            _one("planned-restart-native", "v2", "healthy"),
            _one("planned-restart", "v2", "healthy"),
            _one("task-manager-killed", "v2", "healthy"),
            _one("rolled-back-then-failed-over", "v2", "F7", besides=("no-advance", "wait")),
            _one("restarted-empty-same-job-id", "v2", "F4", besides=("F14", "F15")),
        )
    ),
    *(
        run.model_copy(update={"backend": "rocksdb", "flink": "1.20"})
        for run in (
            _one("restarted-from-last-checkpoint", "v2", "healthy"),
            _one("restored-from-older-checkpoint", "v2", "F2"),
            _one("planned-restart-native", "v1", "healthy"),
        )
    ),
    _on_kafka("planned-restart", "healthy"),
    _on_kafka("task-manager-killed", "healthy"),
    _on_kafka("restored-from-older-savepoint", "F2"),
    _on_kafka("rolled-back-then-failed-over", "F7", besides=("no-advance", "wait")),
    _on_kafka("rolled-back-while-running", "F6"),
    _on_kafka("second-job-of-another-topic", "healthy", wrongly=()),
    _on_kafka("started-from-nothing", "F15", besides=("F2",)),
    _on_kafka("started-at-the-latest-offsets", "F18", besides=("F15",)),
    _on_kafka("started-at-the-group-offsets", "F15"),
    _on_kafka("retention-passed", "F18"),
    _on_kafka("rescaled-from-two-to-three", "F19", besides=("healthy",)),
    _on_kafka("idle-partition", "healthy"),
    _on_kafka("partition-added", "healthy"),
    _on_kafka("topic-made-anew", "healthy", wrongly=()),
    _on_kafka("source-uid-changed", "F15", besides=("F2",)),
    _on_kafka("aborted-transactions", "healthy"),
    _on_kafka("topic-compacted", "healthy"),
    _on_kafka("records-skipped-on-purpose", "healthy"),
    _on_kafka("pointer-set-back", "F26"),
    _on_kafka("restored-older-same-job-id", "F3", besides=("F14",)),
    _on_kafka("restarted-empty-same-job-id", "F4", besides=("F14", "F15")),
    _on_kafka("restored-under-another-uid", "F12"),
    _on_kafka("forked-from-a-savepoint", "F13"),
    _on_kafka("restored-from-older-savepoint", "F3", sink="v1", besides=("F2",)),
    _on_kafka("planned-restart", "healthy", sink="v1"),
    _on_kafka("restored-from-older-savepoint", "F2", sink="dynamic"),
    _on_kafka("restored-writing-nothing", sink="dynamic"),
)
"""In the order in which they are told in `docs/matrix.md`."""

NOT_PRODUCED: tuple[tuple[str, str], ...] = (
    (
        "DynamicIcebergSink",
        "with several tables in one job, and with Flink 1.20: the lab's record generator sends every row to one table. "
        "Throwing rows away by itself after a restore (apache/iceberg #17494, whose cause nobody knows): shown instead "
        "is a filter that does so.",
    ),
    (
        "A changelog of state",
        "(`state.backend.changelog`), and ForSt of Flink 2: no run of the lab keeps its state so. Their `_metadata` is "
        "read in tests from files that Flink's own serializers wrote.",
    ),
    ("F1", "by a lost answer: no catalog of this lab loses one, so the second commit is made by hand (constructed)."),
    ("F5", "with the V2 sink: its last commit carries the next ordinary id, so a drained job can be restored."),
    (
        "F11",
        "by a commit that fails while checkpoints go on: with both sinks a failed commit fails the job (F7, `wait`). "
        "Shown instead is the lost notification; a wire of the lab drops it, because Flink loses none by itself.",
    ),
    ("F12", "with the V1 sink: in SQL its uid follows the shape of the job's graph, and no option changes it."),
    (
        "F16",
        "with the V1 sink: since Iceberg 1.7 that commits what two checkpoints handed in apart. By a CDC sink: the lab "
        "has none.",
    ),
    (
        "F17",
        "by different subtasks: both sinks of Iceberg 1.11 send all rows of a key to one writer, also where no "
        "distribution is asked for. Shown instead is the other half, different partitions.",
    ),
    (
        "F22",
        "by speculative execution: that needs a batch job, and the lab's is a stream. Shown instead is a failover's "
        "second attempt.",
    ),
)
"""What no run shows, and why; told below the table. A code, or what else a reader may look for."""

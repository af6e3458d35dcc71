"""Where it is looked for under which columns a job writes: its state first, then what it committed."""

from datetime import timedelta

from bot.domain.flink import CheckpointKind, FlinkManifest, StoredCheckpoint
from bot.domain.ids import CheckpointId
from bot.domain.looked import NotSeen, Seen
from bot.domain.written import WriterSource, writer_sources
from tests.cases import NOON, OPERATOR, Tale, job_id

FOLDER = "s3://lake/sales/orders/metadata"


def name(run: str, checkpoint: int, number: int = 1) -> str:
    """A Flink manifest's."""
    return f"{job_id(run)}-{OPERATOR}-00000-0-{checkpoint}-{number:05}.avro"


def point(
    run: str, checkpoint: int, *pending: str, problem: str | None = None, folder: str = FOLDER
) -> StoredCheckpoint:
    """A retained checkpoint, its committer's state read."""
    return StoredCheckpoint(
        path=f"s3://chk/{run}/chk-{checkpoint}",
        kind=CheckpointKind.CHECKPOINT,
        checkpoint_id=CheckpointId(checkpoint),
        job_id=job_id(run),
        written_at=NOON + timedelta(seconds=checkpoint),
        pending_manifests=pending,
        manifest_folders=dict.fromkeys(pending, (folder,)),
        is_committer_read=True,
        problem=problem,
    )


def looked(tale: Tale, *points: StoredCheckpoint, guest: str | None = None) -> tuple[WriterSource, ...] | NotSeen:
    """Where to look in this world."""
    stored = Seen[StoredCheckpoint](source="s3://chk", values=points)
    listed: Seen[FlinkManifest] | NotSeen = tale.flink_manifests
    guests = {job_id(guest)} if guest is not None else set()
    return writer_sources(tale.table, stored, listed, lambda run: run in guests)


def told(sources: tuple[WriterSource, ...] | NotSeen) -> list[tuple[int, tuple[str, ...], bool]]:
    """(checkpoint, paths of manifests, whether it is a commit) of each."""
    assert not isinstance(sources, NotSeen)
    return [(each.checkpoint_id, each.pending, each.commit is not None) for each in sources]


def test_the_newest_manifest_that_the_newest_point_names_is_asked_first() -> None:
    """Then the commit of its run at or before it: a later commit may be written under another schema."""
    tale = Tale().commits("a", 1, 2, 3).leaves_manifest("a", 2)
    stored = (point("a", 1), point("a", 2, name("a", 1), name("a", 2)), point("a", 4, problem="It is cut off."))

    sources = looked(tale, *stored)

    assert told(sources) == [(2, (f"{FOLDER}/{name('a', 2)}",), False), (2, (), True)]


def test_a_manifest_that_was_listed_as_gone_is_not_asked_for() -> None:
    """It was committed; but another folder than the listed one is looked into."""
    tale = Tale().commits("a", 1, 2)
    gone, elsewhere = point("a", 2, name("a", 2)), point("a", 2, name("a", 2), folder="s3://lake/temporary")

    assert told(looked(tale, gone)) == [(2, (), True)]
    assert told(looked(tale, elsewhere)) == [(2, (f"s3://lake/temporary/{name('a', 2)}",), False), (2, (), True)]


def test_without_a_restore_point_it_is_what_the_job_wrote_last() -> None:
    """And nothing at all where no job has written."""
    assert told(looked(Tale().commits("a", 1, 2).commits(None))) == [(2, (), True)]
    assert told(looked(Tale().commits(None))) == []


def test_nothing_of_a_guest_is_asked() -> None:
    """Another job's newer savepoint in the same folder, or its newer commit, says nothing of this job's columns."""
    tale = Tale().commits("a", 1, 2).commits("b", 8)

    assert told(looked(tale, point("a", 2), point("b", 8), guest="b")) == [(2, (), True)]
    assert told(looked(tale, point("b", 8), guest="b")) == [(2, (), True)]


def test_a_point_whose_run_left_nothing_is_not_known() -> None:
    """Another run's files say nothing of it."""
    unknown = looked(Tale().commits("a", 1, 2), point("b", 1, name("b", 1)))

    assert isinstance(unknown, NotSeen)
    assert "no commit of its run at or before checkpoint 1" in unknown.reason

"""Commits that put rows in the place of others, by whole files or by marking single rows as deleted: a delete, an
update and a merge that copy rows, and an overwrite that brings new ones, all look alike in their summaries, however
many rows they add and remove."""

from collections.abc import Iterable, Sequence

from bot.domain.ids import SnapshotId, short
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted
from bot.domain.table import Snapshot, TableState
from spark_tasks._data_files import DataFile
from spark_tasks._event_time import brings_rows, by_commit, highest, marks_before


def overwrites(commit: Snapshot) -> bool:
    """Whether it removed files, or rows by their places in files that stay, and added rows that may be new."""
    said = commit.summary.get("added-records")
    has_rows = said != "0" if said is not None else commit.counted("added-data-files") > 0
    is_taking = commit.counted("deleted-data-files") > 0 or _deletes_older_rows(commit)
    return commit.operation != "replace" and is_taking and has_rows


def brings_new_rows(commit: Snapshot) -> bool:
    """Whether it brought rows, and none of them in the place of another."""
    return brings_rows(commit) and not overwrites(commit)


def mixes(commits: Iterable[Snapshot]) -> tuple[NotSeen, ...]:
    """A NotSeen for each commit that overwrites."""
    return tuple(
        NotSeen(
            source=f"the new rows of commit {short(commit.snapshot_id)}",
            reason=f"It put {_rows(commit)} in the place of {_replaced(commit)}: which are new and which are copied is "
            "not known.",
            remedy="Ask its writer what it overwrote or merged; if it only deleted or changed rows, it brought none.",
        )
        for commit in commits
        if overwrites(commit)
    )


def with_overwrites(table: TableState, at: SnapshotId | None, count: int) -> tuple[Snapshot, ...]:
    """The newest commits at or below `at` that brought rows, and the newest that overwrite, not below these: at most
    `count` of each, oldest first."""
    found: list[Snapshot] = []
    plain = rewriting = 0
    for commit in table.ancestors(at):
        if plain == count:
            break
        if brings_new_rows(commit):
            plain += 1
            found.append(commit)
        elif overwrites(commit) and rewriting < count:
            rewriting += 1
            found.append(commit)
    return tuple(reversed(found))


def bringing(commits: Sequence[Snapshot], files: Sequence[DataFile]) -> tuple[Snapshot, ...]:
    """Those of `with_overwrites` that surely brought rows: of the ones that overwrite, which replaced whole partitions,
    added more than they removed, or hold an event that is newer than any before them."""
    grouped, marks = by_commit(files), marks_before(commits, files, None)

    def has_newer_event(commit: Snapshot) -> bool:
        mark, top = marks.get(commit.snapshot_id), highest(grouped.get(commit.snapshot_id, ()))
        return mark is not None and top is not None and top > mark

    return tuple(each for each in commits if brings_new_rows(each) or _adds_more(each) or has_newer_event(each))


def _adds_more(commit: Snapshot) -> bool:
    """As its summary tells."""
    is_of_partitions = commit.summary.get("replace-partitions") == "true"
    return is_of_partitions or commit.counted("added-records") > commit.rows_taken_out


def _deletes_older_rows(commit: Snapshot) -> bool:
    """Whether it deletes by place what it did not add: Spark and Trino do, in an update or a merge on read. Of Flink,
    whose upserts delete by key, such a place is in a file of the same commit."""
    is_upsert = commit.engine == "flink" or commit.counted("added-equality-deletes") > 0
    return not is_upsert and commit.rows_taken_out > 0


def _replaced(commit: Snapshot) -> str:
    files = commit.counted("deleted-data-files")
    return counted(files, "file") if files else counted(commit.rows_taken_out, "row")


def _rows(commit: Snapshot) -> str:
    said = commit.summary.get("added-records", "")
    return counted(int(said), "row") if said.isdigit() else "rows"

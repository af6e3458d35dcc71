"""One commit as Iceberg's metadata tells it.

A commit's summary in little memory: what neighbouring commits say alike is kept once for all of them.
"""

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated

from pydantic import PlainSerializer

from bot.observation.ids import DRAINED, CheckpointId, JobId, OperatorId, SnapshotId
from bot.observation.record import Record, Utc

PARTITIONS = "partitions."
"""How the keys begin under which a commit tells of each partition that it changed, with the partition's values, where
the table's `write.summary.partition-limit` asks for it."""
_BETWEEN = "\0"
_MAX_ALIKE = 1_000
"""Kinds of summaries that are remembered to be shared; a writer has one or two."""


@dataclass(frozen=True, slots=True)
class Alike:
    """What many summaries have in common."""

    said: Mapping[str, str]
    """Keys with one value in all of them."""
    places: Mapping[str, int]
    """Keys with a value of each commit's own -> its place among these values."""


class Summary(Mapping[str, str]):
    """The summary of one commit; equal to a dictionary with the same content."""

    __slots__ = ("_alike", "_own")

    def __init__(self, alike: Alike, own: str) -> None:
        self._alike = alike
        self._own = own

    def __getitem__(self, key: str) -> str:
        said = self._alike.said.get(key)
        return self._own.split(_BETWEEN)[self._alike.places[key]] if said is None else said

    def __contains__(self, key: object) -> bool:
        return key in self._alike.said or key in self._alike.places

    def __iter__(self) -> Iterator[str]:
        yield from self._alike.said
        yield from self._alike.places

    def __len__(self) -> int:
        return len(self._alike.said) + len(self._alike.places)

    def __repr__(self) -> str:
        return repr(dict(self))


Told = Annotated[Mapping[str, str], PlainSerializer(dict, return_type=dict[str, str])]
"""A summary in a record: packed or plain; JSON knows no difference."""


@dataclass
class Summaries:
    """Packs the summaries of one table, in the order of its commits."""

    _alike: dict[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]], Alike] = field(default_factory=dict)
    _before: Mapping[str, str] = field(default_factory=dict)

    def packed(self, told: Mapping[str, str]) -> tuple[Alike | None, Mapping[str, str] | str]:
        """What `unpacked` takes. Numbers are a commit's own; words are shared if the commit before said the same."""
        before, self._before = self._before, told
        own = {name: value for name, value in told.items() if value.isdecimal() or before.get(name) != value}
        if any(_BETWEEN in value for value in own.values()):
            return None, dict(told)
        said = {name: value for name, value in told.items() if name not in own}
        kind = (tuple(said), tuple(said.values()), tuple(own))
        alike = self._alike.get(kind)
        if alike is None:
            alike = Alike(said, {name: place for place, name in enumerate(own)})
            if len(self._alike) < _MAX_ALIKE:
                self._alike[kind] = alike
        return alike, _BETWEEN.join(own.values())


def without_partitions(told: Mapping[str, str]) -> dict[str, str]:
    """A summary without what it tells of single partitions."""
    return {key: value for key, value in told.items() if not key.startswith(PARTITIONS)}


def unpacked(alike: Alike | None, own: str | Mapping[str, str]) -> Mapping[str, str]:
    """The summary that was packed; without anything alike, it is all its own."""
    if not isinstance(own, str):
        return own
    assert alike is not None
    return Summary(alike, own)


REPAIR = "waterline.effect"
"""Summary key of a repair: the proposal and the place of the effect in it."""
TOOK_OUT = "waterline.took-out"
"""Summary key of a repair: the commits whose files it took out, by id, with commas."""
DELETED_FROM = "waterline.deleted-from"
"""Summary key of a repair that deleted rows by their places: the commits that had brought these, by id, with commas.
Only where the job would make each of these rows once again: all copies were its own, by readings of their own."""
RECOVERED = "waterline.recovered"
"""Summary key of a repair: `run:first-last` of the checkpoints of each run whose Flink manifests it recovered, with
commas."""
WRITTEN_FROM, WRITTEN_UNTIL = "waterline.written-from", "waterline.written-until"
"""Summary keys of a repair: when Flink had written the first and the last of the rows that it brought, in milliseconds
since 1970."""
OF_OTHERS = "waterline.of-others"
"""Summary key of a repair: the lost commits of other writers than the job that it put back, by id, with commas."""
PUBLISHED = "published-wap-id"
"""Summary key of a cherry-pick by which a writer has published what it had staged (write-audit-publish)."""
PICKED_FROM = "source-snapshot-id"
"""Summary key of a cherry-pick: the snapshot that it copied."""
_LONG_DIGITS = 20
"""Of the smallest long, its sign included."""
_MILLIS_DIGITS = 13
"""Up to the year 2286."""
_RANGE = re.compile(r"(?P<run>[^:,]+):(?P<first>\d{1,19})-(?P<last>\d{1,19})")


class Snapshot(Record):
    """One commit, current or not. `summary` holds strings only, as the format stores them, and nothing
    of single partitions: these are values of rows."""

    snapshot_id: SnapshotId
    parent_id: SnapshotId | None
    sequence_number: int
    committed_at: Utc
    operation: str
    manifest_list: str
    schema_id: int | None
    summary: Told

    @property
    def job_id(self) -> JobId | None:
        """The Flink run that wrote the files (`flink.job-id`); None for any other writer."""
        return job_in(self.summary)

    @property
    def operator_id(self) -> OperatorId | None:
        """`flink.operator-id`; absent before Iceberg 1.2."""
        return operator_in(self.summary)

    @property
    def checkpoint_id(self) -> CheckpointId | None:
        """`flink.max-committed-checkpoint-id`; None when absent or not a number."""
        return checkpoint_in(self.summary)

    def counted(self, key: str) -> int:
        """A counter of the summary (`added-records`, …); 0 when the writer left it out."""
        value = self.summary.get(key, "0")
        return int(value) if value.isdigit() else 0

    @property
    def adds_rows(self) -> bool:
        """Whether it counts rows that it added; Flink's sinks always count them, and an idle one commits none."""
        return self.counted("added-records") > 0

    @property
    def has_commit_below(self) -> bool:
        """Whether another commit lies or lay below it. PyIceberg takes the parent's id away where it expires the
        parent (`RemoveSnapshotsUpdate`, 0.12); rows that the commit counts and did not bring tell it still."""
        before = self.counted("total-records") + self.counted("deleted-records") - self.counted("added-records")
        return self.parent_id is not None or ("total-records" in self.summary and before > 0)

    @property
    def rows_taken_out(self) -> int:
        """Rows that it deleted: with their files, and by their places in files that stay. 0 where it does not count."""
        by_place = self.counted("added-position-deletes") - self.counted("removed-position-deletes")
        return self.counted("deleted-records") + max(by_place, 0)

    @property
    def engine(self) -> str:
        """Who wrote it, as far as the summary tells: `flink`, `spark`, … or `unknown`."""
        if self.job_id:
            return "flink"
        return self.summary.get("engine-name") or ("spark" if "spark.app.id" in self.summary else "unknown")

    @property
    def is_repair(self) -> bool:
        """Whether Waterline made it, as an approved repair."""
        return REPAIR in self.summary

    @property
    def of_others(self) -> frozenset[SnapshotId]:
        """Of a repair: the lost commits of other writers than the job that it put back."""
        return self._named(OF_OTHERS)

    @property
    def brings_others(self) -> bool:
        """Of a repair: whether it put rows back that another writer than the job had committed."""
        return bool(self.of_others)

    @property
    def is_pick(self) -> bool:
        return PICKED_FROM in self.summary

    @property
    def is_published(self) -> bool:
        """Whether its writer has published it so."""
        return PUBLISHED in self.summary

    @property
    def took_out(self) -> frozenset[SnapshotId]:
        """Of a repair: the commits whose files it took out of the table."""
        return self._named(TOOK_OUT)

    def only_undid(self, commits: Set[SnapshotId]) -> bool:
        """Of a repair: whether all that it took out or deleted had come with these commits: without them nobody misses
        it."""
        undid = self.took_out | self._named(DELETED_FROM)
        return bool(undid) and undid <= commits and not self.counted("added-records")

    def _named(self, key: str) -> frozenset[SnapshotId]:
        told = self.summary.get(key, "").split(",")
        return frozenset(SnapshotId(int(each)) for each in told if each.isdigit())

    @property
    def recovered(self) -> Mapping[JobId, tuple[CheckpointId, CheckpointId]]:
        """Of a repair: run -> the first and the last of its checkpoints whose Flink manifests it recovered."""
        told = (_RANGE.fullmatch(each) for each in self.summary.get(RECOVERED, "").split(","))
        return {JobId(it["run"]): (CheckpointId(int(it["first"])), CheckpointId(int(it["last"]))) for it in told if it}

    @property
    def written(self) -> tuple[datetime, datetime] | None:
        """Of a repair: when Flink had written the first and the last of the rows that it brought; None: it brought none
        of Flink's."""
        told = [self.summary.get(key, "") for key in (WRITTEN_FROM, WRITTEN_UNTIL)]
        if not all(each.isdigit() and len(each) <= _MILLIS_DIGITS for each in told):
            return None
        first, last = (datetime.fromtimestamp(int(each) / 1000, UTC) for each in told)
        return first, last


def job_in(summary: Mapping[str, str]) -> JobId | None:
    value = summary.get("flink.job-id")
    return JobId(value) if value else None


def operator_in(summary: Mapping[str, str]) -> OperatorId | None:
    value = summary.get("flink.operator-id")
    return OperatorId(value) if value else None


def checkpoint_in(summary: Mapping[str, str]) -> CheckpointId | None:
    value = summary.get("flink.max-committed-checkpoint-id", "")
    is_number = len(value) <= _LONG_DIGITS and value.removeprefix("-").isdecimal()
    return CheckpointId(int(value)) if is_number else None


def has_ids_and_rows(summary: Mapping[str, str]) -> bool:
    """Whether it is an ordinary commit of Flink's sink: it carries a run and a checkpoint, counts rows that it added,
    and names no other commit."""
    is_of_flink = job_in(summary) is not None and checkpoint_in(summary) not in (None, DRAINED)
    return is_of_flink and summary.get("added-records", "0") != "0" and not names_others(summary)


def names_others(summary: Mapping[str, str]) -> bool:
    """Whether it may name other commits or checkpoints than its own: a repair, or a cherry-pick."""
    return not summary.keys().isdisjoint((REPAIR, PICKED_FROM, PUBLISHED))

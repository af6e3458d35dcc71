"""Two spellings of one file are one file; two files of one name in two buckets are two."""

import pytest

from bot.domain.flink import CheckpointKind, with_kinds
from bot.domain.paths import ByPath, below, may_be_same, one_of, plain
from tests.adapters.test_kinds_from_history import STORED, run_that_took

SAME = [
    ("/a/b", "file:/a/b"),
    ("file:///a/b/", "file:/a//b"),
    ("s3://lake/a/b", "s3a://lake/a/b"),
    ("S3N://lake/a/b", "s3://lake//a/b"),
    ("hdfs:///a/b", "hdfs:/a/b"),
    ("hdfs://nn/a/b", "hdfs://nn:8020/a/b"),
    ("abfs://c@acc.dfs.core.windows.net/a", "abfss://c@acc.dfs.core.windows.net/a"),
]
MAY_BE = [("hdfs:///a/b", "hdfs://nn:8020/a/b"), ("/a/b", "hdfs://nn:9000/a/b"), ("/a/b", "viewfs://c/a/b")]
OTHERS = [
    ("s3://lake/a/b", "s3://sea/a/b"),
    ("hdfs://nn:8020/a", "hdfs://nn:9000/a"),
    ("hdfs://nn/a", "s3://nn/a"),
    ("hdfs:///a/b", "hdfs:///a/c"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_file_has_one_plain_path(one: str, other: str) -> None:
    """Whoever compares plain paths finds it."""
    assert plain(one) == plain(other)
    assert may_be_same(one, other)


@pytest.mark.parametrize(("one", "other"), MAY_BE)
def test_a_path_without_host_may_be_the_one_with_it(one: str, other: str) -> None:
    """Which host is meant is for Hadoop's configuration to say; both ways round."""
    assert may_be_same(one, other)
    assert may_be_same(other, one)
    assert ByPath([(one, 7)]).get(other) == ByPath([(other, 7)]).get(one) == 7


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_what_both_say_differently_is_another_file(one: str, other: str) -> None:
    """A bucket's or a cluster's copy is not the file itself."""
    assert not may_be_same(one, other)
    assert ByPath([(one, 7)]).get(other) is None


def test_the_very_path_comes_before_one_that_may_be_it() -> None:
    """Of two clusters each has its own."""
    told = ByPath([("hdfs:///a", 1), ("hdfs://nn/a", 2), ("hdfs://other/a", 3)])

    assert [told.get(path) for path in ("hdfs:/a", "hdfs://nn:8020/a", "hdfs://other/a")] == [1, 2, 3]


def test_a_file_lies_below_a_folder_that_is_spelled_in_another_way() -> None:
    """Its place in the folder is the same; another bucket's is elsewhere."""
    assert below("hdfs://nn:8020/w/t/data/a.parquet", "hdfs:///w/t/") == "data/a.parquet"
    assert below("s3://lake/t/a", "s3a://sea/t") is None


def test_runs_that_were_restored_from_one_point_are_told_so() -> None:
    """Flink says the host, the configuration does not."""
    assert one_of(["hdfs:///s/savepoint-1", "hdfs://nn:8020/s/savepoint-1"]) == "hdfs:///s/savepoint-1"
    assert one_of(["hdfs:///s/savepoint-1", "hdfs:///s/savepoint-2"]) is None
    assert one_of([]) is None


def test_flinks_history_tells_the_kind_of_a_point_whose_host_it_says() -> None:
    """Storage was listed by its folder alone."""
    stored = STORED.model_copy(update={"path": "hdfs:///state/chk-7"})
    run = run_that_took(CheckpointKind.STOP_SAVEPOINT, "hdfs://nn:8020/state/chk-7")

    assert [each.kind for each in with_kinds([stored], [run])] == [CheckpointKind.STOP_SAVEPOINT]

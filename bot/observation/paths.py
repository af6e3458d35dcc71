"""One name for a file that several systems spell differently, and names by which people tell files apart."""

import re
from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

V = TypeVar("V")
SCHEMES = {"file": "", "s3a": "s3", "s3n": "s3", "abfss": "abfs", "wasbs": "wasb"}
"""Names of one storage -> the name by which they are compared; `/a` is a local file's path as well."""
_PARTS = re.compile(r"(?:([a-zA-Z][a-zA-Z0-9+.-]*):(?://([^/]*))?)?(.*)", re.DOTALL)


class Place(NamedTuple):
    scheme: str
    """Empty: none is said, or it is a local file."""
    authority: str
    """A bucket, or a host with its port; empty: the default of whoever reads the path (`hdfs:///a`)."""
    inside: str
    """Below the storage's root; begins with a slash and ends in none."""


def place_of(path: str) -> Place:
    """Iceberg and people write `file:///a` or `/a`, Spark and Flink `file:/a`; Hadoop has several names for S3, writes
    every row of slashes as one, and leaves out the port of HDFS where it is the usual one; a folder may end in a
    slash."""
    found = _PARTS.fullmatch(path)
    assert found is not None
    scheme, authority, inside = (part or "" for part in found.groups())
    scheme = SCHEMES.get(scheme.lower(), scheme.lower())
    authority = authority.removesuffix(":8020") if scheme == "hdfs" else authority
    return Place(scheme, authority, re.sub("/+", "/", f"/{inside}").rstrip("/"))


def plain(path: str) -> str:
    """A path of a file or folder in the one spelling of its kind; whether two that differ may still be one file is
    what `may_be_same` tells."""
    scheme, authority, inside = place_of(path)
    return f"{scheme}:{'//' * bool(authority)}{authority}{inside}" if scheme else inside


def may_be_same(one: str, other: str) -> bool:
    """Whether nothing in these paths speaks against one file: below the root they are equal, and so are scheme and
    authority where both say one. Iceberg's `remove_orphan_files` compares so where the table's path says none."""
    mine, its = place_of(one), place_of(other)
    return mine.inside == its.inside and _agree(mine, its)


def one_of(paths: Iterable[str]) -> str | None:
    """The first of these paths, if all may be the same; None where two are not, or there is none."""
    told = list(paths)
    return told[0] if told and all(may_be_same(told[0], each) for each in told) else None


def below(path: str, folder: str) -> str | None:
    """What follows `folder` in `path`, however either is spelt: `data/a.parquet`; None: it lies elsewhere."""
    mine, its = place_of(path), place_of(folder)
    is_inside = _agree(mine, its) and mine.inside.startswith(f"{its.inside}/")
    return mine.inside.removeprefix(f"{its.inside}/") if is_inside else None


class ByPath(Generic[V]):
    """What is known of files, found under every spelling of a path that may be a file's."""

    def __init__(self, told: Iterable[tuple[str, V]]) -> None:
        """(path, what is known of it)."""
        self._told: dict[str, list[tuple[Place, V]]] = {}
        for path, value in told:
            place = place_of(path)
            self._told.setdefault(place.inside, []).append((place, value))

    def get(self, path: str) -> V | None:
        """The very path's before one that only may be it; None where there is neither."""
        place = place_of(path)
        there = self._told.get(place.inside, ())
        exact = (value for each, value in there if each == place)
        return next(exact, next((value for each, value in there if _agree(each, place)), None))


def told_apart(paths: Sequence[str]) -> dict[str, str]:
    """Path -> its name, with as many of its folders as it takes to tell it from every other one of `paths`."""
    parts = {path: plain(path).split("/") for path in paths}

    def name(own: Sequence[str]) -> str:
        ends = (own[-length:] for length in range(1, len(own)))
        alone = (end for end in ends if sum(other[-len(end) :] == end for other in parts.values()) == 1)
        return "/".join(next(alone, own))

    return {path: name(own) for path, own in parts.items()}


def _agree(one: Place, other: Place) -> bool:
    return all(a == b or not a or not b for a, b in zip(one[:2], other[:2], strict=True))


def names_checkpoint_of(path: str, job_id: str | None) -> bool:
    """Whether it lies where Flink keeps the checkpoints of that run."""
    folder, _, name = path.rstrip("/").rpartition("/")
    return job_id is not None and folder.endswith(f"/{job_id}") and name.startswith("chk-")

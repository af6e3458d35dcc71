"""One name for a file that several systems spell differently, and names by which people tell files apart."""

from collections.abc import Sequence

ASIDE = "waterline-quarantine"
"""Folder of a table's location in which files are kept that were put aside."""


def plain(path: str) -> str:
    """A path of a file or folder that can be compared: Iceberg and people write `file:///a` or `/a`, Spark and Flink
    `file:/a`; Hadoop has several names for S3; a folder may end in a slash."""
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    elif path.startswith(("s3a://", "s3n://")):
        path = "s3://" + path[6:]
    return path.rstrip("/")


def below(path: str, folder: str) -> str | None:
    """What follows `folder` in `path`, however either is spelt: `data/a.parquet`; None: it lies elsewhere."""
    inside = plain(folder) + "/"
    return plain(path).removeprefix(inside) if plain(path).startswith(inside) else None


def told_apart(paths: Sequence[str]) -> dict[str, str]:
    """Path -> its name, with as many of its folders as it takes to tell it from every other one of `paths`."""
    parts = {path: plain(path).split("/") for path in paths}

    def name(own: Sequence[str]) -> str:
        ends = (own[-length:] for length in range(1, len(own)))
        alone = (end for end in ends if sum(other[-len(end) :] == end for other in parts.values()) == 1)
        return "/".join(next(alone, own))

    return {path: name(own) for path, own in parts.items()}

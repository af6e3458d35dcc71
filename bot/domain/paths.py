"""One name for a file that several systems spell differently."""

import re


def plain(path: str) -> str:
    """A path that can be compared: Iceberg writes `file:///a` or `/a`, Spark answers `file:/a`; Hadoop has several
    names for S3."""
    return re.sub(r"^s3[an]://", "s3://", re.sub(r"^file:/*", "/", path))

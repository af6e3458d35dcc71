"""Paths as people and Flink write them, opened with pyarrow's filesystems: local, s3, gs, abfs, hdfs."""

import os
from urllib.parse import urlsplit

from pyarrow import ArrowException
from pyarrow.fs import FileSystem, S3FileSystem

_SCHEMES = {"local": "file:", "s3": "s3://", "gcs": "gs://", "abfs": "abfss://", "hdfs": "hdfs://"}
TROUBLE = (OSError, ArrowException, ValueError)
"""What pyarrow raises."""
S3_WITHIN_S = 5.0
"""How long S3 may take to connect, and to send anything of an answer. It is asked three times."""


def opened(path: str) -> tuple[FileSystem, str]:
    """Flink writes `file:/a/b`; people write `/a/b` or `file:///a/b`. Hadoop's `s3a:` is pyarrow's `s3:`.

    Raises what is TROUBLE.
    """
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    for hadoops in ("s3a://", "s3n://"):
        path = path.replace(hadoops, "s3://", 1) if path.startswith(hadoops) else path
    found: tuple[FileSystem, str] = FileSystem.from_uri(path)
    files, inside = found
    told = urlsplit(path)
    if not isinstance(files, S3FileSystem) or told.query or told.username is not None:
        return found
    return _of_environment(files.region), inside


def _of_environment(region: str) -> S3FileSystem:
    """What `from_uri` makes of a plain address, with limits: it would ask a storage that hangs for minutes (pyarrow 26:
    ten tries and more of three seconds), and reads this address of the environment, which the constructor does not."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    return S3FileSystem(
        region=region, endpoint_override=endpoint, connect_timeout=S3_WITHIN_S, request_timeout=S3_WITHIN_S
    )


def address(files: FileSystem, path: str) -> str:
    """The path with its scheme again, as Flink writes it: `file:/a/b`, `s3://bucket/a`."""
    return _SCHEMES.get(files.type_name, "") + path

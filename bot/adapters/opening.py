"""Paths as people and Flink write them, opened with pyarrow's filesystems: local, s3, gs, abfs, hdfs."""

from pyarrow.fs import FileSystem

_SCHEMES = {"local": "file:", "s3": "s3://", "gcs": "gs://", "abfs": "abfss://", "hdfs": "hdfs://"}


def opened(path: str) -> tuple[FileSystem, str]:
    """Flink writes `file:/a/b`; people write `/a/b` or `file:///a/b`. Hadoop's `s3a:` is pyarrow's `s3:`.

    Raises what pyarrow raises: OSError, ArrowInvalid, ValueError.
    """
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    for hadoops in ("s3a://", "s3n://"):
        path = path.replace(hadoops, "s3://", 1) if path.startswith(hadoops) else path
    found: tuple[FileSystem, str] = FileSystem.from_uri(path)
    return found


def address(files: FileSystem, path: str) -> str:
    """The path with its scheme again, as Flink writes it: `file:/a/b`, `s3://bucket/a`."""
    return _SCHEMES.get(files.type_name, "") + path

"""One name for a file that several systems spell differently."""


def plain(path: str) -> str:
    """A path of a file or folder that can be compared: Iceberg and people write `file:///a` or `/a`, Spark and Flink
    `file:/a`; Hadoop has several names for S3; a folder may end in a slash."""
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    elif path.startswith(("s3a://", "s3n://")):
        path = "s3://" + path[6:]
    return path.rstrip("/")

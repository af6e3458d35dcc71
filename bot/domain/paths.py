"""One name for a file that several systems spell differently."""


def plain(path: str) -> str:
    """A path that can be compared: Iceberg writes `file:///a` or `/a`, Spark answers `file:/a`; Hadoop has several
    names for S3."""
    if path.startswith("file:"):
        return "/" + path.removeprefix("file:").lstrip("/")
    return "s3://" + path[6:] if path.startswith(("s3a://", "s3n://")) else path

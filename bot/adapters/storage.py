"""Files by their paths (local, s3, gs, abfs, hdfs): opened with pyarrow's filesystems, or as a table's catalog says."""

import os
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from pyarrow import ArrowException
from pyarrow.fs import FileSystem, S3FileSystem
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.typedef import Properties

from bot.observation.ids import TableName

_SCHEMES = {"local": "file:", "s3": "s3://", "gcs": "gs://", "abfs": "abfss://", "hdfs": "hdfs://"}
TROUBLE = (OSError, ArrowException, ValueError)
"""What pyarrow raises."""
_REMEDIES = (
    (r"Expired ?Token|token[^\n]{0,40}expired|Unauthorized|OAuthError|status 401|\b401 ", "Renew the login: it has "
     "expired, or it is not accepted (`token`, `credential` or the keys in `catalog.properties`, or the environment)."),
    (r"ACCESS_DENIED|Forbidden|\b403\b|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|SignatureDoesNotMatch|"
     r"InvalidAccessKeyId", "Check the keys that Waterline uses, and their rights to this path."),
    (r"CERTIFICATE_VERIFY|SSLError|SSL_CONNECT|SSL peer certificate", "Name the authority of its certificate in "
     "REQUESTS_CA_BUNDLE for a catalog, and in SSL_CERT_FILE for S3."),
    (r"NO_SUCH_BUCKET|NoSuchBucket", "Correct the name of the bucket, or create it."),
    (r"NETWORK_CONNECTION|[Cc]onnection refused|resolve host|NameResolution", "Check that it runs, that its address in "
     "the configuration is right, and the network from here."),
)  # fmt: skip
"""What a library says of a catalog or a storage that was not reached or said no -> what to do first."""
S3_WITHIN_S = 5.0
"""How long S3 may take to connect, and to send anything of an answer. It is asked three times."""


def in_a_line(error: Exception) -> str:
    """`OSError: No such file`, at most 300 characters of its first line, without a full stop."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:300]}".rstrip(".: ")


def remedy_for(error: Exception, otherwise: str) -> str:
    """What to do first about an error of a catalog or a storage."""
    said = f"{type(error).__name__}: {error}"
    return next((remedy for pattern, remedy in _REMEDIES if re.search(pattern, said)), otherwise)


_S3_LIMITS = {"s3.connect-timeout": str(S3_WITHIN_S), "s3.request-timeout": str(S3_WITHIN_S)}


def opened(path: str) -> tuple[FileSystem, str]:
    """Flink writes `file:/a/b`; people write `/a/b` or `file:///a/b`. Hadoop's `s3a:` is pyarrow's `s3:`.

    Raises what is TROUBLE.
    """
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    for hadoops in ("s3a://", "s3n://"):
        path = path.replace(hadoops, "s3://", 1) if path.startswith(hadoops) else path
    told = urlsplit(path)
    if told.scheme == "s3" and told.netloc and not told.query and told.username is None:
        of_aws = tuple(sorted(item for item in os.environ.items() if item[0].startswith("AWS_")))
        return _bucket(told.netloc, of_aws, S3_WITHIN_S), f"{told.netloc}{told.path}".rstrip("/")
    found: tuple[FileSystem, str] = FileSystem.from_uri(path)
    return found


@lru_cache(maxsize=32)
def _bucket(name: str, of_aws: tuple[tuple[str, str], ...], within_s: float) -> S3FileSystem:
    """What `from_uri` makes of a plain address and the environment, made once (it asks AWS for the bucket's region),
    with limits: it would ask a storage that hangs for minutes (pyarrow 26: ten tries and more of three seconds). It
    reads this endpoint of the environment, which the constructor does not."""
    endpoint = (told := dict(of_aws)).get("AWS_ENDPOINT_URL_S3") or told.get("AWS_ENDPOINT_URL")
    files, _ = FileSystem.from_uri(f"s3://{name}")
    return S3FileSystem(
        region=files.region, endpoint_override=endpoint, connect_timeout=within_s, request_timeout=within_s
    )


def address(files: FileSystem, path: str) -> str:
    """The path with its scheme again, as Flink writes it: `file:/a/b`, `s3://bucket/a`."""
    return _SCHEMES.get(files.type_name, "") + path


Opened = Callable[[str], tuple[FileSystem, str]]
"""A path as people, Flink and Iceberg write it -> the filesystem, and the path in it. Raises what pyarrow raises."""
_OURS = {"s3": "s3.", "s3a": "s3.", "s3n": "s3.", "gs": "gcs.", "gcs": "gcs.", "abfs": "adls.", "abfss": "adls."}
"""Scheme -> how PyIceberg's properties of that storage begin."""
_SHARED = "client."


class TableStorage:
    """What the catalog said when each table was loaded last: vended credentials live for an hour or so."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """`properties` of the catalog; they hold for a table that was not loaded yet."""
        self._properties = dict(properties)
        self._told: dict[TableName, Properties] = {}

    def learn(self, table: TableName, properties: Properties) -> None:
        self._told[table] = dict(properties)

    def of(self, table: TableName) -> Opened:
        return lambda path: opened_with(dict(self.properties_of(table)), path)

    def properties_of(self, table: TableName) -> Mapping[str, str]:
        """The catalog's properties, with what it vended for this table."""
        return self._told.get(table, self._properties)


def opened_with(properties: Properties, path: str) -> tuple[FileSystem, str]:
    """Raises what pyarrow raises: OSError, ArrowInvalid, ValueError."""
    begins = _OURS.get(path.partition(":")[0])
    if begins is None or not any(key.startswith((begins, _SHARED)) for key in properties):
        return opened(path)
    scheme, host, inside = PyArrowFileIO.parse_location(path)
    told = {**_S3_LIMITS, **properties}
    return _of_catalog(tuple(sorted((key, str(value)) for key, value in told.items())), scheme, host), inside


@lru_cache(maxsize=32)
def _of_catalog(properties: tuple[tuple[str, str], ...], scheme: str, host: str) -> FileSystem:
    return PyArrowFileIO(dict(properties)).fs_by_scheme(scheme, host)

"""What Spark is given to read a table's files: jars, settings of Hadoop, and credentials that can change.

Evidence opens metadata, manifests and data files by their paths, through Hadoop's file systems, whatever Iceberg's
`io-impl` is. All of it follows from the catalog's properties, under the names that PyIceberg gives them.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from bot.adapters.iceberg.backends import kind_of
from bot.observation.errors import EvidenceFailed
from bot.observation.ids import TableName
from bot.observation.table import TableState
from bot.pinned_jars import MachineError, OfSpark, cache_folder, spark_jars

IVY_SETTINGS = "spark.jars.ivySettings"
"""Spark's own setting for a file that names a mirror; the pinned jars are fetched by it, too."""
_S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_AS_LENT = "software.amazon.awssdk.auth.credentials.ProfileCredentialsProvider"
_AS_ANY_AWS_CLIENT = "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
_NOBODY = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
_S3_SERVER = {
    "fs.s3.impl": _S3A,
    "fs.s3a.impl": _S3A,
    "fs.s3n.impl": _S3A,
    "fs.s3a.attempts.maximum": "3",
    "fs.s3a.retry.limit": "3",
    "fs.s3a.connection.establish.timeout": "5s",
    "fs.s3a.connection.timeout": "20s",
}
"""A storage that does not answer ends a task within about a minute: by themselves S3A and the SDK try for ten."""
_KEYS = ("access-key-id", "secret-access-key", "session-token")
AccessOf = Callable[[TableName], Mapping[str, str]]
"""The catalog's properties with what it vended for this table when it was loaded last."""


def is_on_s3(path: str) -> bool:
    """By its scheme. For any other storage but this machine, people name `spark.packages` and `spark.conf`."""
    return path.partition(":")[0] in {"s3", "s3a", "s3n"}


def names_s3(properties: Mapping[str, str]) -> bool:
    """Whether a catalog's properties speak of S3, before any table is known."""
    is_named = is_on_s3(properties.get("warehouse", "")) or any(key.startswith("s3.") for key in properties)
    return is_named or kind_of(properties) == "glue"


def jars_for(needed: Iterable[OfSpark], ivy_settings: str | None) -> list[Path]:
    """The pinned jars, fetched when missing. Raises EvidenceFailed."""
    try:
        return spark_jars(needed, Path(ivy_settings) if ivy_settings else None)
    except MachineError as error:
        raise EvidenceFailed(
            "Spark cannot start: its jars are not on this machine and cannot be downloaded.",
            f"{error.happened} {error.found}".strip(),
            f"Allow downloads, name a mirror in `spark.conf` ({IVY_SETTINGS}), or copy the folder "
            f"{cache_folder() / 'jars'} from a machine that has them.",
        ) from error


def server_conf(properties: Mapping[str, str], *, lends: bool) -> dict[str, str]:
    """Settings of a Spark server that reads S3. `lends`: whether S3 is asked with keys that the catalog knows, and not
    with those of this machine."""
    told = {**_S3_SERVER, "fs.s3a.aws.credentials.provider": _AS_LENT if lends else _AS_ANY_AWS_CLIENT}
    told |= {f"fs.s3a.{key}": value for key, value in _s3(properties).items()}
    return {f"spark.hadoop.{key}": value for key, value in told.items()}


def bucket_conf(table: TableState, properties: Mapping[str, str]) -> dict[str, str]:
    """Settings of a session: where the bucket of this table is, as the catalog says with the table itself."""
    place = urlsplit(table.metadata_location)
    if not is_on_s3(table.metadata_location):
        return {}
    return {f"fs.s3a.bucket.{place.netloc}.{key}": value for key, value in _s3(properties).items()}


def has_keys(properties: Mapping[str, str]) -> bool:
    """Whether S3 is to be asked with keys that the catalog's properties hold."""
    return _key(properties, "access-key-id") is not None


def keys_told(properties: Mapping[str, str]) -> str:
    """The keys as a `credential_process` prints them. They expire at once, so that the AWS SDK asks for them once a
    second: a profile with keys in it is read only once."""
    names = zip(("AccessKeyId", "SecretAccessKey", "SessionToken"), _KEYS, strict=True)
    told = {name: _key(properties, key) for name, key in names}
    known = {name: value for name, value in told.items() if value is not None}
    return json.dumps({"Version": 1, **known, "Expiration": "2000-01-01T00:00:00Z"})


def profile_that_runs(command: str) -> str:
    """A credentials file of AWS whose keys are what this command prints."""
    return f"[{os.environ.get('AWS_PROFILE') or 'default'}]\ncredential_process = {command}\n"


def _key(properties: Mapping[str, str], name: str) -> str | None:
    return properties.get(f"s3.{name}") or properties.get(f"client.{name}")


def _s3(properties: Mapping[str, str]) -> dict[str, str]:
    """Of S3A, without its prefix. An endpoint of one's own is asked by path, as PyIceberg does."""
    told: dict[str, str] = {}
    if endpoint := properties.get("s3.endpoint"):
        by_host = _is_true(properties.get("s3.force-virtual-addressing"))
        told |= {"endpoint": endpoint, "path.style.access": str(not by_host).lower()}
        told["connection.ssl.enabled"] = str(not endpoint.startswith("http://")).lower()
    if (by_path := properties.get("s3.path-style-access")) is not None:
        told["path.style.access"] = str(_is_true(by_path)).lower()
    region = properties.get("s3.region") or properties.get("client.region")
    if region or endpoint:
        told["endpoint.region"] = region or "us-east-1"
    if _is_true(properties.get("s3.anonymous")):
        told["aws.credentials.provider"] = _NOBODY
    return told


def _is_true(text: str | None) -> bool:
    return (text or "").lower() in {"true", "1", "yes"}

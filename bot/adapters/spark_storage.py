"""What Spark is given to read a table's files: jars, settings of Hadoop, and credentials that can change.

Evidence opens metadata, manifests and data files by their paths, through Hadoop's file systems, whatever Iceberg's
`io-impl` is. All of it follows from the catalog's properties, under the names that PyIceberg gives them.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import urlsplit

from bot.adapters.iceberg.backends import kind_of
from bot.observation.errors import EvidenceFailed
from bot.observation.ids import TableName
from bot.observation.table import TableState
from bot.pinned_jars import MachineError, OfSpark, cache_folder, spark_jars

Storage = Literal["s3", "gcs", "adls"]
IVY_SETTINGS = "spark.jars.ivySettings"
"""Spark's own setting for a file that names a mirror; the pinned jars are fetched by it, too."""
_SCHEMES: Mapping[str, Storage] = {
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gcs",
    "gcs": "gcs",
    "abfs": "adls",
    "abfss": "adls",
}
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
_GCS = "com.google.cloud.hadoop.fs.gcs"
_KEYS = ("access-key-id", "secret-access-key", "session-token")
AccessOf = Callable[[TableName], Mapping[str, str]]
"""The catalog's properties with what it vended for this table when it was loaded last."""


def storage_of(path: str) -> Storage | None:
    """By the scheme of a path; None for a local one, HDFS, and what is not known."""
    return _SCHEMES.get(path.partition(":")[0])


def storages_in(properties: Mapping[str, str]) -> frozenset[Storage]:
    """Those that a catalog's properties speak of, before any table is known."""
    found = {storage_of(properties.get("warehouse", ""))}
    found |= {kind for kind in get_args(Storage) if any(key.startswith(f"{kind}.") for key in properties)}
    if kind_of(properties) == "glue":
        found.add("s3")
    return frozenset(kind for kind in found if kind is not None)


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


def server_conf(storages: Iterable[Storage], properties: Mapping[str, str], *, lends: bool) -> dict[str, str]:
    """Settings of the Spark server. They may hold secrets of ADLS, so they are never put on a command line. `lends`:
    whether S3 is asked with keys that the catalog knows, and not with those of this machine."""
    told: dict[str, str] = {}
    for storage in storages:
        match storage:
            case "s3":
                told |= {**_S3_SERVER, "fs.s3a.aws.credentials.provider": _AS_LENT if lends else _AS_ANY_AWS_CLIENT}
                told |= {f"fs.s3a.{key}": value for key, value in _s3(properties).items()}
            case "gcs":
                told |= _gcs(properties)
            case "adls":
                told |= _adls(properties)
    return {f"spark.hadoop.{key}": value for key, value in told.items()}


def bucket_conf(table: TableState, properties: Mapping[str, str]) -> dict[str, str]:
    """Settings of a session: where the bucket of this table is, as the catalog says with the table itself."""
    place = urlsplit(table.metadata_location)
    if storage_of(table.metadata_location) != "s3":
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


def _gcs(properties: Mapping[str, str]) -> dict[str, str]:
    told = {"fs.gs.impl": f"{_GCS}.GoogleHadoopFileSystem", "fs.AbstractFileSystem.gs.impl": f"{_GCS}.GoogleHadoopFS"}
    if project := properties.get("gcs.project-id"):
        told["fs.gs.project.id"] = project
    if host := properties.get("gcs.service.host"):
        told["fs.gs.storage.root.url"] = host
    return told


def _adls(properties: Mapping[str, str]) -> dict[str, str]:
    account = properties.get("adls.account-name")
    if account is None:
        return {}
    host = properties.get("adls.account-host") or f"{account}.dfs.core.windows.net"
    if key := properties.get("adls.account-key"):
        return {f"fs.azure.account.key.{host}": key}
    if token := properties.get("adls.sas-token"):
        return {f"fs.azure.account.auth.type.{host}": "SAS", f"fs.azure.sas.fixed.token.{host}": token}
    if client := properties.get("adls.client-id"):
        oauth = "fs.azure.account.oauth"
        tenant = properties.get("adls.tenant-id", "")
        return {
            f"fs.azure.account.auth.type.{host}": "OAuth",
            f"{oauth}.provider.type.{host}": "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider",
            f"{oauth}2.client.id.{host}": client,
            f"{oauth}2.client.secret.{host}": properties.get("adls.client-secret", ""),
            f"{oauth}2.client.endpoint.{host}": f"https://login.microsoftonline.com/{tenant}/oauth2/token",
        }
    return {}


def _is_true(text: str | None) -> bool:
    return (text or "").lower() in {"true", "1", "yes"}

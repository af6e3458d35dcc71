"""Errors of the libraries that only some catalogs bring: AWS's for Glue, Thrift's for a Hive metastore.

PyIceberg hands them on as they are. Neither library is a requirement, so neither may be imported where it is missing.
"""

from importlib import import_module
from importlib.util import find_spec


def _of(module: str, *names: str) -> tuple[type[Exception], ...]:
    if find_spec(module.partition(".")[0]) is None:
        return ()
    found = import_module(module)
    return tuple(getattr(found, name) for name in names)


AWS = _of("botocore.exceptions", "BotoCoreError", "ClientError")
HIVE = _of("thrift.Thrift", "TException")
"""Base of the metastore's own exceptions, too."""

_NOT_KNOWN = frozenset({"OperationTimeoutException"})
"""Glue answers it with status 400, though the operation may have come to its end."""
_PASSES = frozenset(
    {"ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded", "SlowDown"}
    | {"ExpiredTokenException", "ExpiredToken", "RequestExpired"}
)
"""Too many at once, or a login that has run out."""


def may_pass(error: Exception) -> bool:
    """Whether AWS turned the request away for now."""
    return is_turned_away(error) and _answer(error)[1] in _PASSES


def is_turned_away(error: Exception) -> bool:
    """Whether AWS answered the request with a no: no right, no such thing, too many at once, not well formed."""
    if not isinstance(error, AWS):
        return False
    status, code = _answer(error)
    return isinstance(status, int) and 400 <= status < 500 and code not in _NOT_KNOWN


def _answer(error: Exception) -> tuple[object, object]:
    """(HTTP status, AWS's code); None where there is none."""
    answer = getattr(error, "response", None) or {}
    return answer.get("ResponseMetadata", {}).get("HTTPStatusCode"), answer.get("Error", {}).get("Code")

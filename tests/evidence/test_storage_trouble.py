"""What failed on the way to a storage is told as such, and a command that could not look says so by its exit code."""

import pytest

from bot.adapters.spark import storage_trouble
from bot.cli import exit_code_after
from bot.cli.doctor import Line, exit_code_of, trouble
from bot.observation.errors import (
    BadConfiguration,
    CouldNotLook,
    EvidenceFailed,
    FileNotOpened,
    Refused,
    WaterlineError,
)

TRACES = {
    'UnsupportedFileSystemException: No FileSystem for scheme "s3"': "no file system",
    "AwsServiceException: The provided token has expired. (Service: S3, Status Code: 400, ExpiredToken)": "expired",
    "NoAuthWithAWSException: No AWS Credentials provided by …": "no keys",
    "java.nio.file.AccessDeniedException: s3://lake/a: getFileStatus on s3://lake/a: (Status Code: 403)": "denied",
    "SSLHandshakeException: PKIX path building failed: unable to find valid certification path": "certificate",
    "java.net.UnknownHostException: lake.s3.nowhere.example": "cannot reach",
    "NoSuchBucketException: The specified bucket does not exist": "no such bucket",
}


@pytest.mark.parametrize("trace", TRACES)
def test_each_broken_way_has_one_line_of_its_own(trace: str) -> None:
    """Neither the file nor the table is blamed, and no other task is suggested."""
    told = storage_trouble(RuntimeError(trace), "the evidence task ledger")

    assert TRACES[trace] in told.happened
    assert "run " not in told.remedy.lower()


def test_what_is_no_trouble_of_a_storage_is_left_to_others() -> None:
    """A fault of a query is not called one of the storage."""
    assert storage_trouble(RuntimeError("[DIVIDE_BY_ZERO] Division by zero."), "it") is None


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CouldNotLook("a", "b", "c"), 2),
        (EvidenceFailed("a", "b", "c"), 2),
        (FileNotOpened("/a", "b", "c", "d"), 2),
        (Refused("a", "b", "c"), 1),
        (BadConfiguration("a", "b", "c"), 1),
    ],
)
def test_an_error_that_could_not_look_is_no_wrong_one(error: WaterlineError, code: int) -> None:
    """A script can tell what it has to do again from what it has to mend."""
    assert code == exit_code_after(error)
    assert code == exit_code_of([trouble("a table", error)])


def test_the_doctor_says_wrong_before_it_says_unknown() -> None:
    """What is surely missing can be mended now."""
    good: Line = ("a", True, "", "")

    assert 0 == exit_code_of([good])
    assert 2 == exit_code_of([good, trouble("b", CouldNotLook("a", "b", "c"))])
    assert 1 == exit_code_of([good, trouble("b", CouldNotLook("a", "b", "c")), ("c", False, "", "")])

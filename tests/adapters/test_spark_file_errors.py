"""What an error of Spark says of one file: gone, damaged, or nothing."""

import pytest

from bot.adapters.spark import file_trouble
from bot.observation.errors import FileDamaged, FileNotOpened

WHERE = "Encountered error while reading file s3a://lake/orders/a%20b%253A.parquet."


def test_spark_names_a_damaged_file_by_its_url() -> None:
    """Seen with Spark 4.1: blanks and percent signs are written as URLs have them."""
    found = file_trouble(RuntimeError(f"[FAILED_READ_FILE.NO_HINT] {WHERE}  SQLSTATE: KD001"), "the look")

    assert isinstance(found, FileDamaged)
    assert found.path == "s3a://lake/orders/a b%3A.parquet"


def test_a_file_that_is_gone_is_not_called_damaged() -> None:
    """It can be restored, which a damaged one cannot."""
    said = f"[FAILED_READ_FILE.FILE_NOT_EXIST] {WHERE} File does not exist. SQLSTATE: KD001"
    found = file_trouble(RuntimeError(said), "the look")

    assert isinstance(found, FileNotOpened)
    assert not isinstance(found, FileDamaged)
    assert found.path == "s3a://lake/orders/a b%3A.parquet"


@pytest.mark.parametrize("cause", ["Status Code: 403, Forbidden", "java.net.ConnectException: refused", "OutOfMemory"])
def test_the_way_to_the_storage_says_nothing_of_the_file(cause: str) -> None:
    """Neither that it is gone, nor that it is damaged."""
    assert file_trouble(RuntimeError(f"[FAILED_READ_FILE.NO_HINT] {WHERE} Caused by: {cause}"), "the look") is None

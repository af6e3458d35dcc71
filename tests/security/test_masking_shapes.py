"""Credentials of addresses and headers are masked though nobody knows them, and words of people are not."""

import pytest

from bot.domain.masking import MASK, Masking


@pytest.mark.parametrize(
    "text",
    [
        "The basic aggregates are wrong since noon.",
        "Basic understanding: see the runbook.",
        "basic configuration",
        "Its signature: unknown.",
    ],
)
def test_words_that_people_write_are_recorded_as_they_wrote_them(text: str) -> None:
    """`basic` is an English word as well, whatever follows it."""
    assert Masking().text(text) == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("GET https://b.s3/x?X-Amz-Security-Token=FwoGZXIvYXdzEAo%2F&y=1", "FwoGZXIvYXdz"),
        ("https://b.s3/x?X-Amz-Credential=minio-root%2F20261123%2Feu&X-Amz-Date=20261123", "minio-root"),
        ("https://b.s3/x?x-amz-signature=0123456789abcdef", "0123456789abcdef"),
        ("https://storage.googleapis.com/b/x?X-Goog-Signature=89abcdef0123&X-Goog-Date=1", "89abcdef0123"),
        ("https://b.s3/x?AWSAccessKeyId=minio&Signature=vjbyPxybdZaNmGa&Expires=1", "vjbyPxybdZaNmGa"),
        ("https://a.blob.core.windows.net/c/x?sv=2024-11-04&sig=Zm9vYmFyYmF6%3D", "Zm9vYmFyYmF6"),
        ("AccountName=lake;AccountKey=Zm9vYmFyYmF6cXV4==;EndpointSuffix=x", "Zm9vYmFyYmF6"),
        ('{"X-Amz-Security-Token": "FwoGZXIvYXdzEAo"}', "FwoGZXIvYXdz"),
        ("Authorization: Basic notbase64atall", "notbase64atall"),
        ('{"Authorization": "Basic aggregates"}', "aggregates"),
        ("curl said: basic dXNlcjpwYXNzd29yZA== was refused", "dXNlcjpwYXNz"),
        ("The answer to Basic dXNlcjpwYXNz.", "dXNlcjpwYXNz"),
        ("Basic dXNlcjpow6k_w6k-", "dXNlcjpow6k"),
    ],
)
def test_no_credential_of_an_address_or_a_header_stays(text: str, secret: str) -> None:
    """Of S3, GCS and Azure, and of the header; what stands around it stays."""
    masked = Masking().text(text)

    assert secret not in masked
    assert MASK in masked
    assert masked.split(MASK)[0] in text

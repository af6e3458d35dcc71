"""A refused request says in the log whether the clocks differ or the signature is wrong."""

from structlog.testing import capture_logs

from tests.security.test_signed_requests import Post, post, signed, store

__all__ = ["post", "store"]


def test_a_clock_that_is_off_is_named(post: Post) -> None:
    """By how much, to either side, and what to do; a right signature does not help."""
    with capture_logs() as logged:
        statuses = [post(**signed(age_s=600)), post(**signed(age_s=-600))]

    assert [401, 401] == statuses
    assert all("more than five minutes from this machine's clock" in line["event"] for line in logged)
    assert [600, -600] == [round(line["stamp_is_behind_s"], -1) for line in logged]
    assert all("NTP" in line["remedy"] for line in logged)


def test_a_wrong_secret_is_not_blamed_on_clocks(post: Post) -> None:
    """The stamp is of now; a request that is heard says nothing."""
    with capture_logs() as logged:
        statuses = [post(**signed(secret="another")), post(**signed())]

    assert [401, 200] == statuses
    assert ["a request was refused: its signature does not match slack_signing_secret"] == [
        line["event"] for line in logged
    ]

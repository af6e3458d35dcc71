"""Glue: the compare-and-swap is AWS's own check of `VersionId`.

moto keeps tables but does not check that version, so what is tried here is each side of it apart: that every commit
carries the version that was read before it, and that Glue's refusal is a refusal.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from pyiceberg.catalog.glue import GlueCatalog

from bot.adapters.iceberg import PyIcebergCatalog
from bot.observation.errors import CommitRefused, CouldNotLook, OutcomeUnknown
from tests.adapters.conftest import StandingClock
from tests.catalogs.losing_proxy import Loss, losing_proxy
from tests.catalogs.orders import Orders
from tests.catalogs.test_every_catalog import rewind

pytestmark = pytest.mark.parametrize("kind", ["glue"])


class _Body:
    """A body as botocore's HTTP session hands it on."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self) -> Iterator[bytes]:
        yield self._content


def answered(status: int, kind: str) -> AWSResponse:
    """An error as Glue's JSON protocol writes it."""
    body = f'{{"__type": "{kind}", "Message": "said by Glue"}}'.encode()
    headers = {"content-type": "application/x-amz-json-1.1", "x-amzn-errortype": kind}
    return AWSResponse("https://glue", status, headers, _Body(body))


def client_of(ours: PyIcebergCatalog) -> Any:
    """The AWS client through which our commits go."""
    made = ours._catalog("commit")
    assert isinstance(made, GlueCatalog)
    return made.glue


def test_a_commit_carries_the_version_that_was_read_before_it(orders: Orders) -> None:
    """A writer that commits between our check and our update moves the version; Glue is told which one we expect."""
    change = rewind(orders.ours.load(orders.name), orders.heads[0])
    namespace, _, table = orders.name.rpartition(".")
    client = client_of(orders.ours)
    sent: list[str] = []
    versions: list[str] = []

    def version() -> str:
        return str(client.get_table(DatabaseName=namespace, Name=table)["Table"]["VersionId"])

    def another_commits_first(params: dict[str, Any], **_told: object) -> AWSResponse:
        sent.append(params["VersionId"])
        versions.append(version())
        orders.append(99)
        versions.append(version())
        return answered(400, "ConcurrentModificationException")

    client.meta.events.register("provide-client-params.glue.UpdateTable", _once(another_commits_first, client))

    with pytest.raises(CommitRefused, match="Glue detected concurrent update"):
        orders.ours.commit(orders.name, change)

    assert [versions[0]] == sent
    assert versions[0] != versions[1]
    assert "99" in str(orders.table.scan().to_arrow()["position"].to_pylist())


@pytest.mark.parametrize(
    ("status", "kind_of_error", "expected"),
    [
        (400, "ConcurrentModificationException", CouldNotLook),
        (400, "AccessDeniedException", CommitRefused),
        (400, "ThrottlingException", CouldNotLook),
        (500, "InternalServiceException", OutcomeUnknown),
        (503, "ServiceUnavailable", OutcomeUnknown),
    ],
)
def test_what_glue_answers_is_told_as_refused_later_or_unknown(
    orders: Orders, status: int, kind_of_error: str, expected: type[Exception]
) -> None:
    """Turned away at the door is a refusal, unless it may pass; a failure inside AWS is not known."""
    change = rewind(orders.ours.load(orders.name), orders.heads[0])
    client = client_of(orders.ours)
    client.meta.events.register("before-send.glue.UpdateTable", lambda **_told: answered(status, kind_of_error))

    with pytest.raises(expected):
        orders.ours.commit(orders.name, change)

    assert orders.heads[-1] == orders.ours.load(orders.name).head


@pytest.mark.parametrize("loss", [500, 503, "reset"], ids=str)
def test_a_lost_yes_of_glue_is_unknown_and_was_asked_for_once(orders: Orders, aws: str, loss: Loss) -> None:
    """AWS's client repeats by itself what Glue would then refuse: our own commit, told to us as somebody else's."""
    before = orders.ours.load(orders.name)
    with losing_proxy(aws) as proxy:
        through = PyIcebergCatalog("lake", {**orders.properties, "glue.endpoint": proxy.address}, StandingClock())
        proxy.losses.append(loss)

        with pytest.raises(OutcomeUnknown, match="not known"):
            through.commit(orders.name, rewind(before, orders.heads[0]))

        through.close()

    assert [200] == proxy.commits
    assert orders.heads[0] == orders.ours.load(orders.name).head


def _once(act: Any, client: Any) -> Any:
    """Runs `act` at the first call and answers that request with what it returns."""
    answers: list[AWSResponse] = []

    def run(params: dict[str, Any], **told: object) -> None:
        if not answers:
            answers.append(act(params, **told))
            client.meta.events.register("before-send.glue.UpdateTable", lambda **_told: answers[0])

    return run

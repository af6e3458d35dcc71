"""The three ends of a commit, over a REST catalog: applied, refused, unknown."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.iceberg import PyIcebergCatalog
from bot.domain.errors import CommitRefused, CouldNotLook, OutcomeUnknown, UnknownTable
from bot.ports import TableChange
from tests.adapters.conftest import StandingClock
from tests.adapters.flink_wire import Wire
from tests.adapters.lake import ORDERS, Lake

TABLE = "/v1/namespaces/sales/tables/orders"


@pytest.fixture
def loaded(lake: Lake) -> dict[str, Any]:
    """What a REST catalog answers when the table is loaded."""
    location = lake.table.metadata_location
    metadata = json.loads(Path(location.removeprefix("file://")).read_text(encoding="utf-8"))
    return {"metadata-location": location, "metadata": metadata, "config": {}}


@pytest.fixture
def rest(wire: Wire, loaded: dict[str, Any], clock: StandingClock) -> Iterator[PyIcebergCatalog]:
    """The adapter on a REST catalog that knows the table."""
    wire.says("GET /v1/config", {"defaults": {}, "overrides": {}})
    wire.says(f"GET {TABLE}", loaded)
    adapter = PyIcebergCatalog("lake", {"type": "rest", "uri": wire.url}, clock)
    yield adapter
    adapter.close()


@pytest.fixture
def change(lake: Lake) -> TableChange:
    """A rewind to the first commit."""
    return TableChange(
        expected_uuid=str(lake.table.metadata.table_uuid),
        expected_head=lake.heads[-1],
        move_main_to=lake.heads[0],
        new_tags={"incident-1": lake.heads[-1]},
    )


def test_one_request_carries_every_requirement(
    wire: Wire, rest: PyIcebergCatalog, lake: Lake, loaded: dict[str, Any], change: TableChange
) -> None:
    """The catalog itself compares uuid, head and tag: no time passes between a look and the commit."""
    wire.says(f"POST {TABLE}", loaded)

    rest.commit(ORDERS, change)

    [(_, sent)] = wire.sent("POST")
    assert sent["requirements"] == [
        {"type": "assert-table-uuid", "uuid": str(lake.table.metadata.table_uuid)},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": lake.heads[-1]},
        {"type": "assert-ref-snapshot-id", "ref": "incident-1", "snapshot-id": None},
    ]
    assert [(each["action"], each["ref-name"], each["snapshot-id"]) for each in sent["updates"]] == [
        ("set-snapshot-ref", "incident-1", lake.heads[-1]),
        ("set-snapshot-ref", "main", lake.heads[0]),
    ]


def refusal(code: int, kind: str) -> tuple[int, Any]:
    """An error as the Iceberg REST specification writes it."""
    return code, {"error": {"message": f"{kind}: no", "type": kind, "code": code}}


@pytest.mark.parametrize(
    "answer",
    [
        refusal(400, "BadRequestException"),
        refusal(403, "ForbiddenException"),
    ],
    ids=lambda answer: str(answer[0]),
)
def test_a_clear_no_is_a_refusal(wire: Wire, rest: PyIcebergCatalog, change: TableChange, answer: Any) -> None:
    """The catalog decided before it wrote: surely not applied."""
    wire.says(f"POST {TABLE}", answer)

    with pytest.raises(CommitRefused, match="nothing was changed"):
        rest.commit(ORDERS, change)

    assert len(wire.sent("POST")) == 1


@pytest.mark.parametrize(
    "answer",
    [
        refusal(404, "NoSuchTableException"),
        refusal(500, "CommitStateUnknownException"),
        refusal(502, "BadGateway"),
        refusal(503, "ServiceUnavailable"),
        refusal(504, "GatewayTimeout"),
        (200, "half an ans"),
        (200, {"unexpected": True}),
        (418, "<html>a proxy</html>"),
    ],
    ids=["404", "500", "502", "503", "504", "cut off", "not Iceberg's", "a proxy"],
)
def test_everything_else_is_unknown(wire: Wire, rest: PyIcebergCatalog, change: TableChange, answer: Any) -> None:
    """Neither yes nor no: it is verified against the table and never repeated."""
    wire.says(f"POST {TABLE}", answer)

    with pytest.raises(OutcomeUnknown, match="not known"):
        rest.commit(ORDERS, change)

    assert len(wire.sent("POST")) == 1


def test_a_conflict_over_what_is_compared_with_is_a_refusal(
    wire: Wire, rest: PyIcebergCatalog, loaded: dict[str, Any], change: TableChange
) -> None:
    """Main has moved: what was approved holds no longer."""
    wire.says(f"POST {TABLE}", refusal(409, "CommitFailedException"))
    moved = change.model_copy(update={"expected_head": change.move_main_to})
    assert loaded["metadata"]["refs"]["main"]["snapshot-id"] != moved.expected_head

    with pytest.raises(CommitRefused, match="nothing was changed"):
        rest.commit(ORDERS, moved)

    assert len(wire.sent("POST")) == 1


@pytest.mark.parametrize(
    "answer", [refusal(409, "CommitFailedException"), refusal(429, "TooManyRequests")], ids=["409", "429"]
)
def test_what_may_pass_is_no_refusal(wire: Wire, rest: PyIcebergCatalog, change: TableChange, answer: Any) -> None:
    """Somebody else came first and touched nothing that is compared with, or there were too many: later it may go."""
    wire.says(f"POST {TABLE}", answer)

    with pytest.raises(CouldNotLook, match=r"nothing was changed|another commit came first"):
        rest.commit(ORDERS, change)

    assert len(wire.sent("POST")) == 1


def test_an_expired_login_is_tried_once_more_and_may_pass(
    wire: Wire, rest: PyIcebergCatalog, change: TableChange
) -> None:
    """PyIceberg logs in anew after a 401 and repeats; a request that was not let in has changed nothing."""
    wire.says(f"POST {TABLE}", refusal(401, "NotAuthorizedException"))

    with pytest.raises(CouldNotLook, match="nothing was changed"):
        rest.commit(ORDERS, change)

    assert len(wire.sent("POST")) == 2


def test_a_catalog_that_is_down_before_the_commit_may_be_asked_again(
    wire: Wire, rest: PyIcebergCatalog, change: TableChange
) -> None:
    """Nothing was sent, so nothing was changed."""
    wire.says(f"GET {TABLE}", refusal(500, "ServiceFailure"))

    with pytest.raises(CouldNotLook, match="could not be read before the commit"):
        rest.commit(ORDERS, change)

    assert wire.sent("POST") == []


def test_loading_tells_unknown_from_unreachable(wire: Wire, rest: PyIcebergCatalog) -> None:
    """404 is an answer; 401, 500 and a login page are none."""
    wire.says(f"GET {TABLE}", refusal(404, "NoSuchTableException"))
    with pytest.raises(UnknownTable):
        rest.load(ORDERS)

    for answer in (refusal(500, "ServiceFailure"), refusal(401, "NotAuthorizedException"), (200, "<html>login</html>")):
        wire.says(f"GET {TABLE}", answer)
        with pytest.raises(CouldNotLook):
            rest.load(ORDERS)

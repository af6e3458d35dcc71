"""A commit is one compare-and-swap: applied, refused or unknown, and never over one that was not foreseen.

What holds on every kind of catalog alike is tried in `tests/catalogs/test_every_catalog.py`.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest
from pyiceberg.table.refs import MAIN_BRANCH

from bot.adapters.iceberg import PyIcebergCatalog
from bot.observation.errors import CommitRefused, CouldNotLook, OutcomeUnknown, UnknownTable
from bot.observation.file_changes import FileSources
from bot.observation.ids import SnapshotId
from bot.observation.table import TableState
from bot.ports import FileChange, TableChange
from tests.adapters.conftest import StandingClock
from tests.adapters.flink_wire import Wire
from tests.adapters.lake import ORDERS, Lake


def rewind(table: TableState, to: SnapshotId) -> TableChange:
    """The table's part of the rewind, as it is approved."""
    assert table.head is not None
    return TableChange(
        expected_uuid=table.uuid,
        expected_head=table.head,
        move_main_to=to,
        new_tags={"incident-1": table.head},
        set_tags={"waterline": to},
        set_properties={"waterline.status": "under-review"},
    )


REFUSED: Mapping[str, tuple[Callable[[TableState, SnapshotId], TableChange], str]] = {
    "the same name with another uuid is another table": (
        lambda table, good: rewind(table.model_copy(update={"uuid": "00000000-0000-4000-8000-000000000000"}), good),
        "Table UUID does not match",
    ),
    "a tag of an earlier incident is never moved by chance": (
        lambda table, good: rewind(table, good).model_copy(update={"new_tags": {"taken": good}}),
        "the name taken is taken",
    ),
    "main is never moved without a comparison": (
        lambda table, good: TableChange(expected_uuid=table.uuid, expected_head=None, move_main_to=good),
        "does not name the expected head",
    ),
    "a target that expired meanwhile": (lambda table, _: rewind(table, SnapshotId(4711)), "4711"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "said"), REFUSED.values(), ids=REFUSED)
def test_what_was_not_foreseen_refuses_the_change_whole(
    lake: Lake, catalog: PyIcebergCatalog, change: Callable[[TableState, SnapshotId], TableChange], said: str
) -> None:
    """No tag, no property, no move."""
    lake.table.manage_snapshots().create_tag(lake.heads[1], "taken").commit()
    before = catalog.load(ORDERS)

    with pytest.raises(CommitRefused, match=said):
        catalog.commit(ORDERS, change(before, lake.heads[0]))

    assert catalog.load(ORDERS).metadata_location == before.metadata_location


def test_the_same_change_twice_changes_nothing_more(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Tags and properties that are there already are kept; what is to be removed may be gone already."""
    table = catalog.load(ORDERS)
    change = TableChange(
        expected_uuid=table.uuid,
        expected_head=table.head,
        new_tags={"incident-1": lake.heads[-1]},
        set_tags={"waterline": lake.heads[0]},
        set_properties={"a": "1"},
        remove_properties=("b",),
        remove_refs=("never-was",),
    )
    once = catalog.commit(ORDERS, change)

    twice = catalog.commit(ORDERS, change)

    assert twice.ref("incident-1") == lake.heads[-1]
    assert twice.model_copy(update={"metadata_location": once.metadata_location}) == once


def test_no_setting_of_the_table_lets_expiry_take_what_is_kept(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Each new tag or branch has an age of its own, without end; one that has an age keeps it, and main has none."""
    lake.table.manage_snapshots().create_tag(lake.heads[0], "monthly", max_ref_age_ms=1000).commit()
    table = catalog.load(ORDERS)
    change = TableChange(
        expected_uuid=table.uuid,
        expected_head=table.head,
        move_main_to=lake.heads[0],
        set_tags={"waterline": lake.heads[0], "monthly": lake.heads[1]},
        new_branches={"recovery-wl-1": lake.heads[0]},
    )

    catalog.commit(ORDERS, change)

    ages = {name: ref.max_ref_age_ms for name, ref in lake.table.refresh().metadata.refs.items()}
    assert {"main": None, "monthly": 1000, "waterline": 2**63 - 1, "recovery-wl-1": 2**63 - 1} == ages


def test_a_tag_that_stands_already_is_given_an_age_and_keeps_its_own(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """A tag without one, on the very snapshot that is named, would go with the next expiry of Spark."""
    lake.table.manage_snapshots().create_tag(lake.heads[0], "by-hand").commit()
    lake.table.manage_snapshots().create_tag(lake.heads[0], "monthly", max_ref_age_ms=1000).commit()
    tags = dict.fromkeys(("by-hand", "monthly"), lake.heads[0])

    catalog.commit(ORDERS, TableChange(expected_uuid=catalog.load(ORDERS).uuid, expected_head=None, new_tags=tags))

    refs = lake.table.refresh().metadata.refs
    assert {name: refs[name].max_ref_age_ms for name in tags} == {"by-hand": 2**63 - 1, "monthly": 1000}
    assert {refs[name].snapshot_id for name in tags} == {lake.heads[0]}


def test_moving_main_keeps_its_retention(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """How long snapshots of main are kept is the owner's decision; a rewind must not forget it."""
    lake.table.manage_snapshots().set_current_snapshot(snapshot_id=lake.heads[-1]).commit()
    lake.table.manage_snapshots().create_branch(
        lake.heads[-1], MAIN_BRANCH, max_snapshot_age_ms=86_400_000, min_snapshots_to_keep=7
    ).commit()

    catalog.commit(ORDERS, rewind(catalog.load(ORDERS), lake.heads[0]))

    main = lake.table.metadata.refs[MAIN_BRANCH]
    assert (main.max_snapshot_age_ms, main.min_snapshots_to_keep) == (86_400_000, 7)


TABLE = "/v1/namespaces/sales/tables/orders"


def loaded_of(lake: Lake) -> dict[str, Any]:
    """What a REST catalog answers when the table is loaded as it is now."""
    location = lake.table.metadata_location
    metadata = json.loads(Path(location.removeprefix("file://")).read_text(encoding="utf-8"))
    return {"metadata-location": location, "metadata": metadata, "config": {}}


@pytest.fixture
def loaded(lake: Lake) -> dict[str, Any]:
    """The same of its three commits."""
    return loaded_of(lake)


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


# The catalog decided before it wrote: surely not applied.
NO = (CommitRefused, "nothing was changed", 1)
# Neither yes nor no: it is verified against the table and never repeated.
UNKNOWN = (OutcomeUnknown, "not known", 1)
# Somebody else came first and touched nothing that is compared with, or there were too many: later it may go.
LATER = (CouldNotLook, "nothing was changed|another commit came first", 1)
# PyIceberg logs in anew after a 401 and repeats; a request that was not let in has changed nothing.
LET_IN = (CouldNotLook, "nothing was changed", 2)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        pytest.param(refusal(400, "BadRequestException"), NO, id="400"),
        pytest.param(refusal(403, "ForbiddenException"), NO, id="403"),
        pytest.param(refusal(401, "NotAuthorizedException"), LET_IN, id="401"),
        pytest.param(refusal(409, "CommitFailedException"), LATER, id="409"),
        pytest.param(refusal(429, "TooManyRequests"), LATER, id="429"),
        pytest.param(refusal(404, "NoSuchTableException"), UNKNOWN, id="404"),
        pytest.param(refusal(500, "CommitStateUnknownException"), UNKNOWN, id="500"),
        pytest.param(refusal(502, "BadGateway"), UNKNOWN, id="502"),
        pytest.param(refusal(503, "ServiceUnavailable"), UNKNOWN, id="503"),
        pytest.param(refusal(504, "GatewayTimeout"), UNKNOWN, id="504"),
        pytest.param((200, "half an ans"), UNKNOWN, id="cut off"),
        pytest.param((200, {"unexpected": True}), UNKNOWN, id="not Iceberg's"),
        pytest.param((418, "<html>a proxy</html>"), UNKNOWN, id="a proxy"),
    ],
)
def test_what_the_catalog_answers_is_a_no_or_unknown_or_may_be_asked_again(
    wire: Wire, rest: PyIcebergCatalog, change: TableChange, answer: Any, outcome: tuple[type[Exception], str, int]
) -> None:
    """How often the commit is sent is counted."""
    error, said, requests = outcome
    wire.says(f"POST {TABLE}", answer)

    with pytest.raises(error, match=said):
        rest.commit(ORDERS, change)

    assert len(wire.sent("POST")) == requests


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


@pytest.fixture
def committers(lake: Lake, clock: StandingClock) -> Iterator[list[PyIcebergCatalog]]:
    """Six processes, as far as the catalog can tell: each with its own connection."""
    adapters = [PyIcebergCatalog("lake", lake.properties, clock) for _ in range(6)]
    yield adapters
    for adapter in adapters:
        adapter.close()


def test_of_racing_rewinds_exactly_one_wins(lake: Lake, committers: list[PyIcebergCatalog]) -> None:
    """Six committers with the same approved head at the same moment: one is applied, five are refused."""
    table = committers[0].load(ORDERS)
    at_once = Barrier(len(committers))

    def race(number: int) -> str | None:
        change = rewind(table, lake.heads[number % 2]).model_copy(
            update={"set_properties": {"winner": str(number)}, "new_tags": {f"incident-{number}": lake.heads[-1]}}
        )
        at_once.wait()
        try:
            return committers[number].commit(ORDERS, change).properties["winner"]
        except CommitRefused:
            return None

    with ThreadPoolExecutor(len(committers)) as pool:
        winners = [winner for winner in pool.map(race, range(len(committers))) if winner is not None]

    after = committers[0].load(ORDERS)
    assert winners == [after.properties["winner"]]
    assert [ref.name for ref in after.refs] == [f"incident-{winners[0]}", "main", "waterline"]


def test_between_load_and_commit_nothing_slips_in(lake: Lake, committers: list[PyIcebergCatalog]) -> None:
    """Racing property changes: each one that was accepted is there, each one that is not there was refused."""
    table = committers[0].load(ORDERS)
    at_once = Barrier(len(committers))

    def race(number: int) -> tuple[str, bool]:
        key = f"key-{number}"
        change = TableChange(expected_uuid=table.uuid, expected_head=table.head, set_properties={key: "1"})
        at_once.wait()
        try:
            committers[number].commit(ORDERS, change)
        except (CommitRefused, CouldNotLook):
            return key, False
        return key, True

    with ThreadPoolExecutor(len(committers)) as pool:
        outcomes = dict(pool.map(race, range(len(committers))))

    present = committers[0].load(ORDERS).properties
    assert outcomes == {key: key in present for key in outcomes}
    assert any(outcomes.values())


def test_a_catalog_that_stays_locked_changes_nothing_and_may_be_asked_again(lake: Lake, clock: StandingClock) -> None:
    """SQLite's busy answer comes before anything is written, so nothing is unknown; a lock is let go again."""
    patient = {**lake.properties, "uri": f"{lake.properties['uri']}?timeout=0.1"}
    catalog = PyIcebergCatalog("lake", patient, clock)
    change = rewind(catalog.load(ORDERS), lake.heads[0])
    other = sqlite3.connect(lake.file)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(CouldNotLook, match="database was busy"):
        catalog.commit(ORDERS, change)

    other.close()
    assert catalog.load(ORDERS).head == lake.heads[-1]
    assert catalog.commit(ORDERS, change).head == lake.heads[0]
    catalog.close()


BRANCH = "recovery-wl-1"


@contextmanager
def ahead(seconds: float) -> Iterator[None]:
    """A writer whose clock is so far ahead of ours."""
    with pytest.MonkeyPatch.context() as patched:
        clock = SimpleNamespace(time=lambda: time.time() + seconds)
        patched.setattr("pyiceberg.table.snapshots.time", clock)
        yield


def drops_the_newest(catalog: PyIcebergCatalog, ref: str, head: SnapshotId) -> FileChange:
    """The newest commit's files, off a branch again."""
    found = catalog.survey_files(ORDERS, ref, add=None, remove=FileSources(added_by=(head,)), columns=())
    return FileChange(
        expected_uuid=catalog.load(ORDERS).uuid, ref=ref, expected_head=head, add=None, remove=found.remove, summary={}
    )


def files(lake: Lake) -> set[str]:
    """Every file of the table."""
    folder = Path(lake.table.location().removeprefix("file://"))
    return {str(path) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "change",
    [
        lambda table: rewind(table, table.chain[1].snapshot_id),
        lambda table: TableChange(
            expected_uuid=table.uuid, expected_head=None, set_properties={"waterline.status": "under-review"}
        ),
        lambda table: TableChange(
            expected_uuid=table.uuid, expected_head=table.head, new_branches={BRANCH: table.head}
        ),
    ],
    ids=["main back", "a property", "a branch"],
)
def test_far_behind_the_last_commit_nothing_is_changed(
    lake: Lake, catalog: PyIcebergCatalog, change: Callable[[TableState], TableChange]
) -> None:
    """It may be asked again once the clock is right."""
    with ahead(100):
        lake.append(7)
    before = lake.table.metadata_location

    with pytest.raises(CouldNotLook, match=r"clock is (100|99|98) s behind the table's last change.*tries again"):
        catalog.commit(ORDERS, change(catalog.load(ORDERS)))

    assert lake.table.metadata_location == before


def test_a_few_seconds_do_not_matter(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Java lets a minute pass."""
    with ahead(20):
        lake.append(7)

    catalog.commit(ORDERS, rewind(catalog.load(ORDERS), lake.heads[0]))

    assert catalog.load(ORDERS).head == lake.heads[0]


def test_a_change_of_files_leaves_nothing_behind(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Its manifests are deleted again."""
    with ahead(100):
        head = lake.append(7)
        lake.table.manage_snapshots().create_branch(head, BRANCH).commit()
    change, before = drops_the_newest(catalog, BRANCH, head), files(lake)

    with pytest.raises(CouldNotLook, match="behind the table's last change"):
        catalog.change_files(ORDERS, change)

    assert files(lake) == before


def test_a_rest_catalog_takes_the_time_by_itself_but_of_a_snapshot(
    lake: Lake, wire: Wire, rest: PyIcebergCatalog
) -> None:
    """A move of main bears the server's time; a snapshot bears ours, and is not sent."""
    with ahead(100):
        head = lake.append(7)
        lake.table.manage_snapshots().create_branch(head, BRANCH).commit()
    loaded = loaded_of(lake)
    wire.says(f"GET {TABLE}", loaded)
    wire.says(f"POST {TABLE}", loaded)

    rest.commit(ORDERS, rewind(rest.load(ORDERS), lake.heads[0]))
    assert len(wire.sent("POST")) == 1
    with pytest.raises(CouldNotLook, match="behind the table's last change"):
        rest.change_files(ORDERS, drops_the_newest(rest, BRANCH, head))

    assert len(wire.sent("POST")) == 1

"""Who runs a compaction is asked to pause it; orphan files are put aside and come back."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from bot.actions import remove_orphan_files, take_savepoint, undo_proposal
from bot.actions._effects import Hands
from bot.actions.undo_proposal import brought_back
from bot.adapters.schedulers import HttpSchedulers
from bot.adapters.storage import TableStorage
from bot.adapters.table_files import FolderOfTable
from bot.domain.action import Plan
from bot.domain.entries import (
    EffectEnded,
    EffectStarted,
    ExecutionEnded,
    ExecutionStarted,
    IncidentClosed,
    MaintenanceMarked,
)
from bot.domain.errors import CommitRefused, CouldNotLook, Refused
from bot.domain.execution import ProposalState
from bot.domain.file_changes import MovedFiles
from bot.domain.findings import OrphanFilesFinding
from bot.domain.flink import JobRun
from bot.domain.freezes import still_paused
from bot.domain.looked import NotSeen, Seen
from bot.domain.setup import Compaction
from bot.domain.table import TableState
from bot.ports import TableChange
from bot.service.executing import Executions
from bot.service.maintenance import Maintenance
from bot.slack.blocks.card import card_message
from tests.actions.orphan_plans import NAME, YEARS_AGO, move_of, planned
from tests.actions.scene import Scene
from tests.adapters.vended_s3 import BUCKET, VendedS3, s3
from tests.little_flink import JOB
from tests.rewound import ANA
from tests.tables import ORDERS, job
from tests.telling.receivers import Hook, hook

__all__ = ["s3"]


@pytest.fixture
def airflow() -> Iterator[Hook]:
    """A scheduler that does as it is told."""
    with hook() as taken:
        yield taken


@pytest.fixture
def paused(scene: Scene, airflow: Hook) -> Scene:
    """The table's nightly compaction is known."""
    nightly = Compaction(
        name="the nightly compaction",
        url=airflow.url,
        pause={"is_paused": True},
        resume={"is_paused": False},
        token_variable="AIRFLOW_TOKEN",
    )
    schedulers = HttpSchedulers({ORDERS: (nightly,)}, {"AIRFLOW_TOKEN": "marked-token"})
    hands = scene.observer.hands
    scene.observer.hands = Hands(hands.catalog, hands.jobs, hands.files, hands.replays, schedulers)
    scene.maintenance = Maintenance(scene.store, scene.catalog, schedulers)
    return scene


class TwoHoursALook:
    """The clock of a bot that looks so seldom that its second look has waited for long enough."""

    def __init__(self) -> None:
        self._now = datetime.now(UTC)

    def now(self) -> datetime:
        """See the port."""
        self._now += timedelta(hours=2)
        return self._now


def marks(scene: Scene) -> list[str]:
    """What became of the maintenance beside proposals, in order."""
    bodies = (entry.body for entry in scene.store.get(scene.incident).entries)
    return [body.status for body in bodies if isinstance(body, MaintenanceMarked)]


def asked(airflow: Hook) -> list[bool]:
    """What the scheduler heard, in order."""
    return [json.loads(body)["is_paused"] for _, body in airflow.requests]


def closes(scene: Scene) -> None:
    """The incident ends."""
    scene.store.write(scene.incident, by=ANA, decide=lambda _i: [IncidentClosed(reason="Over.")])


def test_a_proposal_pauses_it_first_and_the_end_lets_it_go_on(paused: Scene, airflow: Hook) -> None:
    """The preview says so; a scheduler that is away keeps the table out of no maintenance, and is asked until it
    answers."""
    plan = paused.plan().model_copy(update={"compactions": ("the nightly compaction",)})

    view = paused.carries_out(take_savepoint.propose(plan), plan)
    first = asked(airflow)
    closes(paused)
    airflow.answers = [(503, {}), (503, {}), (200, {})]
    paused.maintenance.settle(paused.incident)
    away = paused.store.get(paused.incident)
    for _ in range(3):
        paused.maintenance.settle(paused.incident)

    assert "Pause the nightly compaction until then." in view.proposal.preview.sentences[0]
    assert view.done[0].detail.endswith("The nightly compaction is paused.")
    assert first == [True]
    assert airflow.requests[0][0]["authorization"] == "Bearer marked-token"
    assert "gc.enabled" not in paused.table.properties
    assert not away.is_frozen
    assert "found the nightly compaction: HTTP 503. Waterline tries again." in str(still_paused(away))
    assert "HTTP 503" in str([block.to_dict() for block in card_message(away, {}, {}.get, None)[1]])
    assert asked(airflow) == [True, False, False, False]
    assert marks(paused) == ["thawed", "resuming", "resumed"]
    assert still_paused(paused.store.get(paused.incident)) is None


def test_a_scheduler_that_flaps_is_put_on_record_once(paused: Scene, airflow: Hook) -> None:
    """It is asked until it does as it is told; whatever it answers meanwhile calls nobody again."""
    paused.maintenance.freeze(paused.incident, by=ANA)
    airflow.answers = [(503, {}), (502, {}), (503, {}), (502, {}), (200, {})]

    paused.maintenance.thaw(paused.incident, by=ANA)
    for _ in range(5):
        paused.maintenance.settle(paused.incident)

    assert asked(airflow) == [True, False, False, False, False, False]
    assert marks(paused) == ["freezing", "frozen", "thawed", "resuming", "resumed"]


def test_whoever_thaws_hears_that_it_is_still_paused(paused: Scene, airflow: Hook) -> None:
    """And may ask once more, also while the incident goes on."""
    paused.maintenance.freeze(paused.incident, by=ANA)
    airflow.answers = [(503, {}), (200, {})]

    first = paused.maintenance.thaw(paused.incident, by=ANA)
    owed = paused.maintenance.is_owed(paused.store.get(paused.incident))
    paused.maintenance.thaw(paused.incident, by=ANA)

    assert "is no longer frozen" in first
    assert "A compaction of sales.orders could not be resumed." in first
    assert owed
    assert not paused.maintenance.is_owed(paused.store.get(paused.incident))


def test_a_freeze_by_hand_says_whether_it_is_paused(paused: Scene, airflow: Hook) -> None:
    """A scheduler that is away keeps nobody from freezing the rest, and is not passed over in silence."""
    airflow.answers = [(500, {}), (200, {})]

    first = paused.maintenance.freeze(paused.incident, by=ANA)
    paused.maintenance.thaw(paused.incident, by=ANA)
    second = paused.maintenance.freeze(paused.incident, by=ANA)

    assert "The nightly compaction could not be paused (HTTP 500): it may come in between." in first
    assert "The nightly compaction is paused." in second
    assert asked(airflow) == [True, False, True]


def test_nothing_stays_paused_where_nothing_was_frozen(paused: Scene, airflow: Hook) -> None:
    """The catalog refused the freeze."""

    def down(table: str, change: TableChange) -> TableState:
        raise CommitRefused("The catalog is down.", "", "")

    paused.catalog.commit = down  # type: ignore[method-assign, assignment]

    with pytest.raises(CommitRefused):
        paused.maintenance.freeze(paused.incident, by=ANA)

    assert asked(airflow) == [True, False]
    assert not paused.store.get(paused.incident).is_frozen
    assert not paused.maintenance.is_owed(paused.store.get(paused.incident))


def test_what_is_still_paused_does_not_hide_why_nothing_was_frozen(paused: Scene, airflow: Hook) -> None:
    """Catalog and scheduler are both in trouble: whoever asked hears of the first, and the second is owed."""

    def down(table: str, change: TableChange) -> TableState:
        raise CommitRefused("The catalog is down.", "", "")

    paused.catalog.commit = down  # type: ignore[method-assign, assignment]
    airflow.answers = [(200, {}), (503, {}), (200, {})]

    with pytest.raises(CommitRefused, match="The catalog is down"):
        paused.maintenance.freeze(paused.incident, by=ANA)
    owed = still_paused(paused.store.get(paused.incident))
    paused.maintenance.settle(paused.incident)

    assert owed is not None
    assert marks(paused) == ["freezing", "thawed", "resuming", "resumed"]


def test_nothing_stays_paused_by_a_proposal_that_did_not_come_to_freeze(paused: Scene, airflow: Hook) -> None:
    """The catalog was away for longer than an execution waits for it without a break: then the compactions go on."""

    def away(table: str, change: TableChange) -> TableState:
        raise CouldNotLook("The catalog is away.", "", "")

    plan, executions = paused.plan(), paused.executions
    paused.catalog.commit = away  # type: ignore[method-assign, assignment]
    view = paused.carries_out(take_savepoint.propose(plan), plan)
    paused.maintenance.settle(paused.incident)
    waiting = asked(airflow)
    later = Executions(paused.store, paused.observer, executions._proposals, TwoHoursALook())
    later.carry_on(paused.incident, view.proposal.id)
    later.carry_on(paused.incident, view.proposal.id)
    paused.maintenance.settle(paused.incident)

    assert waiting == [True]
    assert paused.view(view.proposal.id).state is ProposalState.REFUSED
    assert asked(airflow) == [True, True, True, False]
    assert not paused.maintenance.is_owed(paused.store.get(paused.incident))


def test_an_older_record_of_a_refused_freeze_owes_nothing(paused: Scene, airflow: Hook) -> None:
    """It asked nobody to pause; what people have paused since is theirs."""
    plan = paused.plan()
    proposal = paused.approved(take_savepoint.propose(plan), plan).id
    older = [
        ExecutionStarted(proposal=proposal),
        EffectStarted(proposal=proposal, index=0),
        EffectEnded(proposal=proposal, index=0, how="refused", detail="The catalog refused."),
        ExecutionEnded(proposal=proposal, outcome="refused", sentence="The catalog refused."),
    ]

    paused.store.write(paused.incident, by=ANA, decide=lambda _i: older)
    paused.maintenance.settle(paused.incident)

    assert not paused.maintenance.is_owed(paused.store.get(paused.incident))
    assert asked(airflow) == []


def test_where_nothing_of_ours_was_frozen_nobody_is_asked(paused: Scene, airflow: Hook) -> None:
    """A freeze by hand stays with whoever made it, and so does what they have paused; a thaw without a freeze, too."""
    paused.maintenance.thaw(paused.incident, by=ANA)
    paused.sets("gc.enabled", "false")
    paused.sets("waterline.maintenance", "frozen")

    said = paused.maintenance.freeze(paused.incident, by=ANA)

    assert said == "Maintenance of sales.orders is already frozen by hand."
    assert asked(airflow) == []
    assert not paused.store.get(paused.incident).is_frozen


def test_a_missing_token_is_named_without_asking(airflow: Hook) -> None:
    """Nobody is asked without the token, and the answer says which variable to set."""
    nightly = Compaction(name="compaction", url=airflow.url, pause={}, resume={}, token_variable="NOT_SET")

    told = HttpSchedulers({ORDERS: (nightly,)}, {}).pause(ORDERS)

    assert told == ("Compaction could not be paused (NOT_SET is not set): it may come in between.",)
    assert airflow.requests == []


def below(moves: Sequence[tuple[str, str]], location: str) -> list[str]:
    """Where the files go, below the proposal's folder."""
    assert all(target.startswith(f"{location}/waterline-quarantine/") for _, target in moves)
    return [target.removeprefix(f"{location}/waterline-quarantine/").partition("/")[2] for _, target in moves]


@pytest.mark.parametrize(
    ("location", "listed"),
    [
        ("s3a://lake/orders", "s3://lake/orders"),
        ("s3n://lake/orders", "s3://lake/orders"),
        ("file:///lake/orders", "/lake/orders"),
        ("file:/lake/orders", "/lake/orders"),
        ("/lake/orders", "file:///lake/orders"),
        ("s3://lake/orders", "s3://lake/orders"),
    ],
)
def test_files_below_the_location_keep_their_folders_however_it_is_spelt(
    scene: Scene, location: str, listed: str
) -> None:
    """Evidence lists plain paths, the table says its location as its writer did."""
    paths = (f"{listed}/data/day=1/{NAME}", f"{listed}/data/day=2/{NAME}")

    proposal = remove_orphan_files.propose(planned(scene, location, *paths))

    moves = move_of(proposal).moves
    assert [source for source, _ in moves] == list(paths)
    assert below(moves, location) == [f"data/day=1/{NAME}", f"data/day=2/{NAME}"]
    said = [sentence for sentence in proposal.preview.sentences if NAME in sentence]
    assert [each.partition(",")[0] for each in said] == [f"day=1/{NAME}", f"day=2/{NAME}"]


def test_files_elsewhere_have_a_folder_for_each_folder_they_come_from(scene: Scene) -> None:
    """The same each time, and never the one of another folder: `…/orders-old` is not below `…/orders`."""
    paths = (f"s3://hot/a/{NAME}", f"s3://hot/b/{NAME}", f"s3://lake/orders-old/data/{NAME}")

    plan = planned(scene, "s3://lake/orders", *paths)
    first, second = (below(move_of(remove_orphan_files.propose(plan)).moves, "s3://lake/orders") for _ in range(2))

    assert first == second
    assert len({each.rpartition("/")[0] for each in first}) == 3
    assert all(each.startswith("elsewhere-") and each.endswith(f"/{NAME}") for each in first)


def test_two_files_for_one_place_are_refused(scene: Scene) -> None:
    """The second would be lost, or stay."""
    plan = planned(scene, "s3://lake/orders", f"s3://lake/orders/data/{NAME}", f"s3a://lake/orders/data/{NAME}")

    with pytest.raises(Refused, match=r"one place.*s3a?://lake/orders/data"):
        remove_orphan_files.propose(plan)


FILE = f"/lake/sales/orders/data/{NAME}"


def beside(scene: Scene, others: Seen[JobRun] | NotSeen) -> Plan:
    """The table's own job stands still."""
    plan = planned(scene, "/lake/sales/orders", FILE)
    observation = plan.case.observation.model_copy(update={"others": others})
    return plan.model_copy(update={"case": plan.case.model_copy(update={"observation": observation})})


def run_of_other(scene: Scene, **change: object) -> Seen[JobRun]:
    """It has completed no checkpoint since it began."""
    own = scene.flink.run(job("a"))
    assert own is not None
    told = {"job_id": job("b"), "name": "backfill", "state": "RUNNING", "ended_at": None, "checkpoints": ()}
    return Seen[JobRun](source="Flink", values=(own.model_copy(update={**told, **change}),))


def test_a_file_that_it_may_have_closed_stays(scene: Scene) -> None:
    """It was alive when the file was written, and nothing names such files before its next checkpoint."""
    began: datetime = YEARS_AGO

    with pytest.raises(Refused, match="No orphan file is old enough"):
        remove_orphan_files.propose(beside(scene, run_of_other(scene, started_at=began)))


def test_what_was_there_before_it_goes(scene: Scene) -> None:
    """The run began later."""
    proposal = remove_orphan_files.propose(beside(scene, run_of_other(scene)))

    assert [source for source, _ in move_of(proposal).moves] == [FILE]


def test_nothing_is_put_aside_while_its_flink_cannot_be_asked(scene: Scene) -> None:
    """Not seen is not ended."""
    with pytest.raises(CouldNotLook, match="its Flink does not answer"):
        remove_orphan_files.propose(beside(scene, NotSeen(source="Flink", reason="Timeout.", remedy="Wait.")))


def test_two_files_of_one_name_are_put_aside_and_come_back_each_to_its_own_path(scene: Scene, s3: VendedS3) -> None:
    """No content is lost on the way, and twice is as once."""
    contents = {f"s3://{BUCKET}/orders/data/day={day}/{NAME}": b"rows of day %d" % day for day in (1, 2)}
    for path, content in contents.items():
        s3.puts(path, content)
    storage = TableStorage({})
    storage.learn(ORDERS, s3.properties)
    files = FolderOfTable(storage)
    plan = planned(scene, f"s3a://{BUCKET}/orders", *contents)

    aside = move_of(remove_orphan_files.propose(plan))
    moved = [files.move(ORDERS, aside.moves, aside.note) for _ in range(2)]
    kept = [s3.content(target.replace("s3a://", "s3://")) for _, target in aside.moves]
    looking = plan.model_copy(update={"written_at": partial(files.written_at, ORDERS)})
    undo = move_of(brought_back(looking, undo_proposal.ACTION, aside, "Undo"))
    back = [files.move(ORDERS, undo.moves, undo.note) for _ in range(2)]

    assert moved == back == [MovedFiles(arrived=2)] * 2
    assert kept == list(contents.values())
    assert {path: s3.content(path) for path in contents} == contents


LISTED = tuple(f"/lake/sales/orders/data/left-{number:02d}.parquet" for number in range(20))
BATCHES_YEARS_AGO = datetime(2023, 11, 14, tzinfo=UTC)


def batches_planned(scene: Scene, *, there: tuple[str, ...], orphans: int) -> Plan:
    """The evidence lists twenty; of them these are still where they were."""
    scene.flink.stop(JOB, job("a"))
    plan = scene.plan()
    found = OrphanFilesFinding(files_listed=90, orphans=orphans, bytes=4, young=0, paths=LISTED)
    case = plan.case.model_copy(update={"orphans": found})
    return plan.model_copy(update={"case": case, "written_at": lambda _paths: dict.fromkeys(there, BATCHES_YEARS_AGO)})


def test_how_many_are_left_and_how_it_goes_on_is_told(scene: Scene) -> None:
    """Twenty of forty-three."""
    proposal = remove_orphan_files.propose(batches_planned(scene, there=LISTED, orphans=43))

    assert "Move 20 files" in proposal.preview.sentences[0]
    assert "23 further orphans stay for now. Run orphan_files again" in proposal.preview.sentences[0]


def test_where_all_were_listed_nothing_is_left(scene: Scene) -> None:
    """Nothing is said of others."""
    assert (
        "further"
        not in remove_orphan_files.propose(batches_planned(scene, there=LISTED, orphans=20)).preview.sentences[0]
    )


def test_files_that_were_put_aside_before_are_not_called_too_young(scene: Scene) -> None:
    """The evidence is older than the last batch: it is to be run again."""
    with pytest.raises(Refused, match=r"moved or removed since\..*`/waterline run orphan_files`"):
        remove_orphan_files.propose(batches_planned(scene, there=(), orphans=43))

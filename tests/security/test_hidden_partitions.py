"""A table that is partitioned by a hidden column: its files carry the values in their paths, people never read them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bot.adapters.spark import SparkEvidenceRunner
from bot.bootstrap.content import CONTENT
from bot.diagnosis import cleanup_deleted_files as f9
from bot.diagnosis import source_positions_skipped as f18
from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import ModeModule
from bot.domain.contract import HIDDEN, TableContract
from bot.domain.diagnosis import Excluded, Matches
from bot.domain.effects import ChangeFiles
from bot.domain.entries import EvidenceRecorded
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.findings import GapsFinding, UnreadableFile, UnreadableFilesFinding
from bot.domain.incident import Incident
from bot.domain.reads import Consumer
from bot.ports import Post
from bot.service.record import Records
from bot.slack.render import render
from tests.cases import Tale
from tests.found import unreadable
from tests.repairs.conftest import Positions, positions, spark
from tests.repairs.scene import ANA, RUN, RepairScene
from tests.tables import CONTRACT, ORDERS, rows

pytestmark = pytest.mark.slow

__all__ = ["positions", "spark"]
SECRET = "ACME"
REVENUE = Consumer(name="revenue_daily", channel="C0REVENUE1")


@pytest.fixture
def scene(tmp_path: Path, runner: SparkEvidenceRunner) -> Iterator[RepairScene]:
    """Run A writes a table that is partitioned by `customer`, which the contract hides."""
    made = RepairScene(tmp_path, runner, consumers=(REVENUE,))
    made.flink.checkpoints(RUN, 2)
    with made.orders.catalog.load_table(ORDERS).update_spec() as spec:
        spec.add_identity("customer")
    yield made
    made.close()


def lost_file(scene: RepairScene, name: str = "00000-0-lost-00001.parquet") -> None:
    """Run A commits a file of one customer, and storage loses it."""
    path = scene.orders.data_folder / f"customer={SECRET}" / name
    path.parent.mkdir(exist_ok=True)
    told = rows(range(20, 30))
    pq.write_table(told.set_column(4, "customer", pa.array([SECRET] * 10)), path)
    scene.orders.names_again("a", 3, [f"customer={SECRET}/{name}"])
    path.unlink()


def shown_in_slack(scene: RepairScene) -> str:
    """Card, evidence, diagnosis, proposals and lines of the thread, as Slack is sent them."""
    incident = scene.store.get(scene.incident)
    keys = ["card"]
    keys += [f"evidence/{run}" for run in incident.runs]
    keys += [f"diagnosis/{entry.seq}" for entry in incident.entries if entry.body.kind == "diagnosed"]
    keys += [f"{kind}/{each}" for each in incident.proposals for kind in ("proposal", "execution")]
    keys += [f"line/{entry.seq}" for entry in incident.entries]
    posts = [Post(key=f"{incident.id}/{key}", incident=incident.id, channel="C0ORDERS01") for key in keys]
    told = [render(post, scene.services) for post in posts]
    return json.dumps([[text, [block.to_dict() for block in blocks]] for text, blocks in told], ensure_ascii=False)


def test_nothing_that_people_read_shows_the_value_and_what_is_carried_out_is_exact(
    scene: RepairScene, positions: Positions
) -> None:
    """Preview, diagnosis, card, notice and record say which file without its customer; the repair finds the file."""
    lost_file(scene)
    scene.opens("ledger", "unreadable_files")

    proposed = scene.proposes("repair_unreadable_files")
    rehearsed = scene.carries_out(proposed)

    assert rehearsed.state is ProposalState.APPLIED, rehearsed.result
    assert positions(scene, rehearsed.proposal.rehearses_on or "") == list(range(20))
    said = " ".join(proposed.proposal.preview.sentences)
    assert f"customer={HIDDEN}" in said
    assert f"customer={HIDDEN}/00000-0-lost-00001.parquet" in said
    changed = next(effect for effect in proposed.proposal.effects if isinstance(effect, ChangeFiles))
    assert changed.remove is not None
    assert f"customer={SECRET}/" in changed.remove.sources.paths[0], "what is carried out is exact"
    notices = scene.services.telling.preview(scene.incident, "first_warning")
    scene.services.telling.send(scene.incident, notices, step=None, by=ANA)
    in_slack = shown_in_slack(scene)
    assert f"customer={HIDDEN}" in in_slack
    assert SECRET not in in_slack
    incident = scene.store.get(scene.incident)
    assert incident.notices
    assert not any(SECRET in view.notice.model_dump_json() for view in incident.notices.values())
    _no_export_shows_it(scene)


def _no_export_shows_it(scene: RepairScene) -> None:
    """Neither in words nor among the entries that the file carries; their places in the chain are proven."""
    incident, records = scene.store.get(scene.incident), scene.services.records
    lines = scene.store.lines(scene.incident)
    for write in (records.html, records.markdown, records.json):
        text = write(incident, lines=lines)
        proof = records.prove(text)

        assert SECRET not in text
        assert SECRET not in "".join(entry.body for entry in proof.entries)
        assert proof.fault is None
        assert "not in the file" in (proof.not_compared or "")
        assert proof.seal.hash == incident.entries[-1].hash
    bare = Records(CONTENT / "messages" / "record").json(incident, lines=lines)
    assert SECRET in bare, "the entries that are acted on hold true paths, so the test can fail"


def test_an_entry_that_is_left_out_cannot_be_forged_around(scene: RepairScene) -> None:
    """The entries beside it still give their hashes, and one that is there is no entry that is left out."""
    lost_file(scene)
    scene.opens("ledger", "unreadable_files")
    records, lines = scene.services.records, scene.store.lines(scene.incident)
    document = json.loads(records.json(scene.store.get(scene.incident), lines=lines))
    left_out = next(entry for entry in document["chain"]["entries"] if entry.get("withheld"))

    left_out["body"] = '{"kind":"note-added","text":"Forged."}'

    assert "does not give its hash" in (records.prove(json.dumps(document)).fault or "")


def test_a_refusal_names_the_file_without_the_value(scene: RepairScene) -> None:
    """The way past every kind of error of a proposal: what it quotes passes through the veil."""
    lost_file(scene)
    scene.opens("ledger", "unreadable_files")
    path = f"s3://lake/orders/metadata/customer={SECRET}/1.avro"
    scene.store.write(scene.incident, by=ANA, decide=lambda now: [_lost_manifest(now, path)])

    with pytest.raises(Refused) as refused:
        scene.proposes("repair_unreadable_files")

    assert f"customer={HIDDEN}" in str(refused.value)
    assert SECRET not in str(refused.value) + refused.value.happened + refused.value.found + refused.value.remedy


def _lost_manifest(now: Incident, path: str) -> EvidenceRecorded:
    """The same evidence, in which a manifest is lost instead."""
    recorded = next(e.body for e in reversed(now.entries) if isinstance(e.body, EvidenceRecorded))
    finding = recorded.evidence.finding
    assert isinstance(finding, UnreadableFilesFinding)
    lost = finding.files[0].model_copy(update={"path": path, "what": "manifest"})
    other = recorded.evidence.model_copy(update={"finding": finding.model_copy(update={"files": (lost,)})})
    return recorded.model_copy(update={"evidence": other})


@pytest.mark.parametrize("field", ["customer", "customer_trunc", "customer_bucket_16", "CUSTOMER_trunc_3"])
def test_a_partition_that_is_made_of_a_hidden_column_is_hidden(field: str) -> None:
    """Engines name it after the column: the first letters of a name tell the name."""
    assert CONTRACT.veiled(f"data/{field}=ACM/day=2026-11-03") == f"data/{field}={HIDDEN}/day=2026-11-03"
    assert CONTRACT.veiled(f"customers={SECRET}") == f"customers={SECRET}"


def test_positions_of_a_hidden_column_are_no_part_of_a_diagnosis() -> None:
    """How many are missing may be told, not which."""
    hides = TableContract(key=("order_id",), position="source_position", redacted=("source_position",))
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    case = tale.looked_at(gaps=GapsFinding(lowest=4711, highest=4899, positions=189, missing=0, gaps=()))

    found = f18.examine(case.model_copy(update={"contract": hides}))

    assert isinstance(found, Excluded)
    assert "4711" not in found.reason
    assert "4899" not in found.reason


def test_spans_of_a_hidden_column_are_no_part_of_a_preview(scene: RepairScene) -> None:
    """The contract hides the event time, too: only the positions are told."""
    setup = scene.observer.setup(ORDERS)
    hides = CONTRACT.model_copy(update={"redacted": ("customer", "event_time")})
    tables = {ORDERS: setup.model_copy(update={"contract": hides})}
    scene.observer.tables = tables
    scene.store.veil_by(tables)
    lost_file(scene)
    scene.opens("ledger", "unreadable_files")

    said = " ".join(scene.proposes("repair_unreadable_files").proposal.preview.sentences)

    assert "source_position 20 to 29" in said
    assert "event_time" not in said


def test_a_diagnosis_that_is_read_in_a_terminal_shows_no_value() -> None:
    """The mode itself names the file; whoever puts the case to all modes lays the veil on."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    gone = UnreadableFile.model_validate(
        {
            "path": f"s3://lake/orders/data/customer={SECRET}/1.parquet",
            "what": "data",
            "snapshot_id": tale.at("a", 2),
            "rows": 10,
            "problem": "It is not there.",
        }
    )
    case = tale.looked_at(unreadable=unreadable(gone)).model_copy(update={"contract": CONTRACT})

    told = diagnose(case, {"F9": ModeModule(mode=f9.MODE, examine=f9.examine)})

    assert isinstance(told.results[0].examined, Matches)
    assert f"customer={HIDDEN}" in told.model_dump_json()
    assert SECRET not in told.model_dump_json()


def test_no_notice_and_no_ledger_holds_the_partition(scene: RepairScene) -> None:
    """That there is a column by which the table is parted is told, its values are not even kept."""
    before = scene.table.head
    lost_file(scene)
    scene.opens("ledger", since=before)

    notices = scene.services.telling.preview(scene.incident, "update").notices

    incident = scene.store.get(scene.incident)
    run = incident.latest["ledger"]
    assert run.evidence is not None
    assert f"customer {HIDDEN}" in notices[0].text
    assert SECRET not in notices[0].text + run.evidence.model_dump_json()

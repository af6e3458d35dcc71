"""A table that is partitioned by a hidden column: its files carry the values in their paths, people never read them."""

import ast
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bot.adapters.spark import SparkEvidenceRunner
from bot.bootstrap.content import CONTENT
from bot.diagnosis import cleanup_deleted_files as f9
from bot.diagnosis import source_positions_skipped as f18
from bot.diagnosis._support.examine import ModeModule, diagnose
from bot.incident.diagnosis import Matches
from bot.incident.effects import ChangeFiles
from bot.incident.entries import EvidenceRecorded
from bot.incident.execution import ProposalState
from bot.incident.incident import Incident
from bot.observation.contract import HIDDEN, TableContract
from bot.observation.errors import Refused
from bot.observation.findings import GapsFinding, UnreadableFile
from bot.observation.readers import Consumer
from bot.ports import Post
from bot.service.record import Records
from bot.slack.render import render
from tests.cases import Tale
from tests.evidence.conftest import Asks, asks
from tests.found import unreadable
from tests.repairs.conftest import Positions, positions, spark
from tests.repairs.scene import ANA, RUN, RepairScene
from tests.tables import CONTRACT, ORDERS, OrdersTable, of_flink, rows

__all__ = ["asks", "positions", "spark"]

pytestmark = [pytest.mark.slow, pytest.mark.rotating]

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
    assert f"customer={SECRET}/" in changed.remove.sources.paths[0], "what is carried out is exact"
    notices = scene.services.telling.preview(scene.incident, "warning")
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

    assert "does not match its hash" in (records.prove(json.dumps(document)).fault or "")


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
    lost = finding.files[0].model_copy(update={"path": path, "what": "manifest"})
    other = recorded.evidence.model_copy(update={"finding": finding.model_copy(update={"files": (lost,)})})
    return recorded.model_copy(update={"evidence": other})


def test_positions_of_a_hidden_column_are_no_part_of_a_diagnosis() -> None:
    """How many are missing may be told, not which."""
    hides = TableContract(key=("order_id",), position="source_position", redacted=("source_position",))
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    case = tale.looked_at(gaps=GapsFinding(lowest=4711, highest=4899, positions=189, missing=0, gaps=()))

    found = f18.examine(case.model_copy(update={"contract": hides}))

    assert "4711" not in found.reason
    assert "4899" not in found.reason


def test_spans_of_a_hidden_column_are_no_part_of_a_preview(scene: RepairScene) -> None:
    """The contract hides the event time, too: only the positions are told."""
    setup = scene.observer.setup(ORDERS)
    hides = CONTRACT.model_copy(update={"redacted": ("customer", "event_time")})
    tables = {ORDERS: setup.model_copy(update={"contract": hides})}
    scene.observer.tables = tables
    scene.store.tables = tables
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
    assert f"customer {HIDDEN}" in notices[0].text
    assert SECRET not in notices[0].text + run.evidence.model_dump_json()


ROOT = Path(__file__).parents[2]
STATEMENTS = {"sql", "expr", "selectExpr", "where", "filter", "having", "text", "execute", "exec_driver_sql",
              "executescript", "from_string", "system", "popen", "literal_column"}  # fmt: skip
OF_CONSTANTS = {"bot/adapters/journal_sql/engine.py", "bot/adapters/journal_sql/membership.py",
                "spark_tasks/_support/replay.py"}  # fmt: skip
"""PRAGMA and SET take no parameters; what is put into them are numbers and names that stand in the same file. The
SELECT of a replay is the operators' own, from their configuration; within another SELECT it can only be a query."""
HOSTILE = {
    "order_id": "order`id`) OR 1=1 --",
    "source_partition": "a.b.c",
    "source_position": "x'; DROP TABLE sales.orders; --",
    "event_time": 'CASE WHEN true THEN "event" END',
    "customer": "{{ 7*7 }}${jndi:ldap://x}",
}
"""Column names that would be something else in a statement."""
TIMES = {"s", "seconds"}
WITH_COLUMNS = ("duplicate_rows", "missing_positions", "late_rows", "replayed_rows", "corrected_rows",
                "freshness", "ledger")  # fmt: skip
"""Every task that is told columns by the contract."""
COMMITS = (
    ("a", 1, range(900, 1000)),
    ("a", 2, range(600, 640)),
    ("b", 2, range(600, 650)),
    ("b", 3, range(1010, 1020)),
)
"""Late rows, rows twice and a gap."""


def product_files() -> Iterator[Path]:
    """The product's code: neither the lab, which breaks its own tables by SQL, nor the local workspace."""
    for package in ("bot", "spark_tasks"):
        for path in (ROOT / package).rglob("*.py"):
            if not {"lab", "workspace"} & set(path.relative_to(ROOT).parts):
                yield path


def built_of_parts(node: ast.expr) -> bool:
    """Whether a text is put together from something that is no constant."""
    match node:
        case ast.JoinedStr(values=values):
            return any(isinstance(value, ast.FormattedValue) for value in values)
        case ast.BinOp(op=ast.Add() | ast.Mod(), left=left, right=right):
            return any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in (left, right)) or any(
                built_of_parts(n) for n in (left, right)
            )
        case ast.Call(func=ast.Attribute(attr="format" | "join")):
            return True
        case _:
            return False


def test_no_statement_is_put_together_from_parts() -> None:
    """No f-string, `%`, `+`, `format` or `join` is handed to anything that reads a statement, an expression or a
    template: names go through `column()`, values through `lit` and parameters."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in product_files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")) in STATEMENTS
        and any(built_of_parts(argument) for argument in node.args)
        and str(path.relative_to(ROOT)) not in OF_CONSTANTS
    ]

    assert found == []


def test_no_shell_reads_a_command() -> None:
    """Processes are started from lists; nothing is evaluated."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in product_files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and (
            any(
                k.arg == "shell" and not (isinstance(k.value, ast.Constant) and not k.value.value)
                for k in node.keywords
            )
            or (isinstance(node.func, ast.Name) and node.func.id in {"eval", "exec", "compile", "__import__"})
        )
    ]

    assert found == []


class HostileTable(OrdersTable):
    """The same table, made under its hostile names."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.catalog.drop_table(ORDERS)
        self._table = self.catalog.create_table(ORDERS, schema=rows([]).rename_columns(list(HOSTILE.values())).schema)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OrdersTable, OrdersTable]]:
    """The same rows twice: under plain names, and under hostile ones in a folder whose name is hostile, too."""
    plain = OrdersTable(tmp_path_factory.mktemp("plain"))
    folder = tmp_path_factory.mktemp("hostile") / 'it\'s a `lake`; $(touch pwned) "x" ${HOME}'
    folder.mkdir()
    hostile = HostileTable(folder)
    for run, checkpoint, numbers in COMMITS:
        told = rows(numbers)
        plain.appends(told, of_flink(run, checkpoint))
        hostile.appends(told.rename_columns(list(HOSTILE.values())), of_flink(run, checkpoint))
    yield plain, hostile
    plain.close()
    hostile.close()


_OFTEN = ("ledger", "duplicate_rows", "missing_positions")


@pytest.mark.parametrize(
    "task", [*_OFTEN, *(pytest.param(task, marks=pytest.mark.long) for task in WITH_COLUMNS if task not in _OFTEN)]
)
def test_hostile_names_of_columns_and_folders_change_no_answer(
    tables: tuple[OrdersTable, OrdersTable], asks: Asks, task: str
) -> None:
    """Whatever a column or a folder is called, each task answers as it does for plain names."""
    plain, hostile = tables
    contract = CONTRACT.model_copy(
        update={"late_after": timedelta(minutes=1), "position_partition": "source_partition", "freshness": timedelta(1)}
    )

    expected = asks(task, plain.ask(plain.state().chain[-1].snapshot_id, contract=contract))
    answer = asks(task, hostile.ask(hostile.state().chain[-1].snapshot_id, contract=renamed(contract)))

    assert answer.verdict == expected.verdict, answer.headline
    assert [m.value for m in answer.measures if m.unit not in TIMES] == [
        m.value for m in expected.measures if m.unit not in TIMES
    ]
    assert len(answer.rows) == len(expected.rows)


def renamed(contract: TableContract) -> TableContract:
    """The same contract, its columns under their hostile names."""
    return contract.model_copy(
        update={
            "key": tuple(HOSTILE[name] for name in contract.key),
            "redacted": tuple(HOSTILE[name] for name in contract.redacted),
            **{field: HOSTILE[getattr(contract, field)] for field in ("position", "position_partition", "event_time")},
        }
    )

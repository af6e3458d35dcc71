"""A case is saved and judged again, and printed as exact JSON."""

import gzip
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType
from typer.testing import CliRunner

from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.saved_case import read_case, write_case
from bot.bootstrap import failure_modes
from bot.cli import app
from bot.cli.diagnosing import print_evidence, save
from bot.cli.doctor import policies_of
from bot.cli.on_demand import LATE
from bot.cli.options import exact
from bot.diagnosis._support.examine import diagnose
from bot.history.case import Case
from bot.incident.approval import ApprovalPolicy, People
from bot.incident.diagnosis import SavedCase
from bot.incident.hidden_values import outgoing_case
from bot.incident.setup import TableSetup
from bot.observation.contract import HIDDEN, TableContract
from bot.observation.errors import BadConfiguration
from bot.observation.evidence import Evidence, Verdict
from bot.observation.findings import LedgerFinding
from bot.observation.flink import Failure, JobRun
from bot.observation.ids import EvidenceId, SnapshotId, UserId
from bot.observation.ledger import Ledger
from bot.observation.looked import NotSeen, Seen
from bot.observation.masking import Masking
from bot.observation.table import TouchedPartitions, Window
from tests import orders_table
from tests.adapters.lake import Lake
from tests.cases import Tale
from tests.tables import CONTRACT, ORDERS

RUN = CliRunner()
CASES = Path(__file__).parents[1] / "data" / "cases"
REAL = CASES / "restored-from-older-savepoint-v2.json.gz"


def with_world(case: Case, **seen: object) -> Case:
    """The same case over another look at the world."""
    return case.model_copy(update={"observation": case.observation.model_copy(update=seen)})


def saved_case() -> SavedCase:
    """Run b was restored from below what run a had committed."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).flink_runs("b", 2).commits("b", 3, 4, 5)
    case = tale.looked_at(duplicates=20)
    at = datetime(2026, 11, 21, tzinfo=UTC)
    return SavedCase(saved_at=at, version="0.1.0", case=case, codes=diagnose(case, failure_modes()).codes)


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_saved_case_gives_the_same_answer(tmp_path: Path, name: str) -> None:
    """Every mode says the very same of the case that was read back, packed or not."""
    saved = saved_case()
    write_case(tmp_path / name, saved, Masking())

    found = read_case(tmp_path / name)

    assert "F2" in found.codes
    assert saved == found
    assert diagnose(saved.case, failure_modes()) == diagnose(found.case, failure_modes())


def test_tasks_that_could_not_look_for_one_reason_say_it_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Without Spark ten tasks would each say the same."""
    down = {"verdict": Verdict.INCONCLUSIVE, "headline": "Spark is down.", "finding": None, "measures": ()}
    down["could_not_look"] = (NotSeen(source="evidence", reason="Spark is down.", remedy="Start it."),)
    evidence = tuple(each.model_copy(update=down) for each in read_case(REAL).case.evidence)

    print_evidence(*evidence, evidence[0].model_copy(update={"headline": "It took too long."}))

    [named, remedy, apart, _] = capsys.readouterr().out.splitlines()
    assert named == f"{', '.join(each.task for each in evidence)}: could not check. Spark is down."
    assert (remedy, "too long" in apart) == ("  Start it.", True)


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    """It may be the only trace of another incident."""
    (tmp_path / "a.json").write_text("mine")

    with pytest.raises(BadConfiguration, match="could not be written"):
        write_case(tmp_path / "a.json", saved_case(), Masking())

    assert "mine" == (tmp_path / "a.json").read_text()
    assert ["a.json"] == [each.name for each in tmp_path.iterdir()]


def test_a_file_that_is_there_is_told_before_anything_is_read(tmp_path: Path) -> None:
    """A diagnosis takes half a minute: nobody waits for it to hear that it cannot be kept."""
    (tmp_path / "a.json").write_text("mine")

    with pytest.raises(BadConfiguration, match="could not be written"):
        save("sales.orders", to=tmp_path / "a.json", config=tmp_path / "is-never-read.yaml")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b""),
        ("a.json", b"PK\x03\x04 cut"),
        ("a.json", b"[" * 100_000),
        ("a.json.gz", b"{}"),
        ("a.json.gz", gzip.compress(b"{}" * 99)[:-9]),
    ],
    ids=["empty", "a zip that is cut", "nested too deep", "not packed", "packed and cut"],
)
def test_another_file_is_not_taken_for_a_case(tmp_path: Path, name: str, content: bytes) -> None:
    """A wrong or cut file says what was expected."""
    (tmp_path / name).write_bytes(content)

    with pytest.raises(BadConfiguration, match="is not a saved case"):
        read_case(tmp_path / name)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    """No traceback for a typing error."""
    with pytest.raises(BadConfiguration, match="FileNotFoundError"):
        read_case(tmp_path / "none.json")


def test_a_case_of_another_format_names_the_first_difference(tmp_path: Path) -> None:
    """A later format is refused, not half understood."""
    (tmp_path / "a.json").write_text(saved_case().model_dump_json().replace('"format":1', '"format":2', 1))

    with pytest.raises(BadConfiguration, match=r"found at format"):
        read_case(tmp_path / "a.json")


def test_a_match_is_told_from_its_neighbours() -> None:
    """What it is easily taken for, and by what the two differ; not from one that holds beside it."""
    late = CASES / "restored-from-older-savepoint-v1.json.gz"

    one, two = (RUN.invoke(app, ["diagnose", "--case", str(case)]).stdout for case in (REAL, late))

    assert "   Not F3: " in one
    assert "   Not F13: " in one
    assert "Not F3:" not in two
    assert "Not F2:" not in two


def test_partitions_of_the_ledger_do_not_leave_unasked() -> None:
    """They are values of rows; which commits there were stays."""
    row = orders_table.ledger().rows[0]
    named = row.model_copy(update={"partitions": (TouchedPartitions(field="customer", values=("ACME",)),)})
    ledger = Ledger(rows=(named,), readers_known=True)
    tale = Tale().commits("a", 1)
    evidence = Evidence(
        verdict=Verdict.RULED_OUT, headline="One chain.", finding=LedgerFinding(ledger=ledger),
        id=EvidenceId("01K"), task="ledger", task_version=2, question="Who?", metadata_location="m", head=None,
        window=Window(since=None, until=row.snapshot_id), at=row.committed_at, took_ms=1, bytes_read=0,
    )  # fmt: skip
    case = tale.looked_at().model_copy(update={"evidence": (evidence,), "ledger": ledger})
    assert "ACME" in case.model_dump_json()

    bare = case.without_samples()

    assert "ACME" not in bare.model_dump_json()
    assert [each.snapshot_id for each in bare.ledger.rows] == [row.snapshot_id]


SECRET = "ACME"
PATH = f"s3://lake/orders/data/day=2026-11-03/customer={SECRET}/1.parquet"


def failed() -> Case:
    """A run that failed over a customer's file, with a checkpoint that did."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).completes("a", 3)
    missing = "java.io.FileNotFoundException"
    thrown = Failure(
        at=tale.now, exception=missing, message=PATH, task=None, attempt=None, causes=(f"{missing}: {PATH}",)
    )
    told = tale.runs["a"]
    declined = told.checkpoints[0].model_copy(update={"status": "FAILED", "failure": f"Task failed: {PATH}"})
    tale.runs["a"] = told.model_copy(
        update={"failures": (thrown,) * 3, "checkpoints": (declined, *told.checkpoints[1:])}
    )
    return tale.looked_at().model_copy(update={"contract": CONTRACT})


def test_the_case_shows_no_value_and_is_diagnosed_the_same() -> None:
    """Of the table's job and of the others that write it; the day and the file's name stay."""
    case = failed()
    case = with_world(case, others=Seen[JobRun](source="Flink", values=case.observation.jobs.values))

    sent = outgoing_case(case.without_samples(), CONTRACT)

    assert SECRET in case.model_dump_json(), "so the test can fail"
    assert SECRET not in sent.model_dump_json()
    assert f"data/day=2026-11-03/customer={HIDDEN}/1.parquet" in sent.observation.jobs.values[0].failures[0].message
    assert diagnose(case, failure_modes()) == diagnose(sent, failure_modes())


def test_where_nothing_is_hidden_the_words_are_as_flink_said_them() -> None:
    """They lead to the cause."""
    case = failed()

    assert case == outgoing_case(case, TableContract(key=("order_id",)))


def test_no_partition_is_told_by_a_summary(tmp_path: Path) -> None:
    """Partitions are values of rows, and commits may tell of every one."""
    lake = Lake(tmp_path)
    lake.catalog.drop_table(ORDERS)
    schema = Schema(NestedField(1, "order_id", LongType()), NestedField(2, "customer", StringType()))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "customer"))
    limit = {"write.summary.partition-limit": "10"}
    table = lake.catalog.create_table(ORDERS, schema, partition_spec=spec, properties=limit)
    table.append(pa.table({"order_id": [1, 2], "customer": [SECRET, "Globex"]}))
    summary = lake.table.metadata.snapshots[0].summary
    assert any(key.startswith("partitions.customer") for key in summary.additional_properties)

    state = PyIcebergCatalog("lake", lake.properties, SystemClock()).load(ORDERS)

    lake.close()
    kept = state.model_dump_json()
    assert SECRET not in kept
    assert "added-records" in kept


def test_a_snapshot_id_is_text_as_it_does_not_fit_a_double() -> None:
    """jq 1.6 made 8648112722606858000 of this one."""
    window = Window(since=None, until=SnapshotId(8648112722606858536))

    told = exact(window.model_dump(mode="json"))

    assert isinstance(told, dict)
    assert told["until"] == "8648112722606858536"


def test_what_fits_stays_a_number() -> None:
    """In lists and in dictionaries, at any depth; a yes is no number."""
    assert exact({"rows": [1, (2**53 - 1, 2**53)], "is": True, "not": None}) == {
        "rows": [1, [2**53 - 1, str(2**53)]],
        "is": True,
        "not": None,
    }


HEAVY = {"pyspark", "pyiceberg", "pyarrow", "pandas", "slack_bolt", "sqlalchemy"}


@pytest.mark.parametrize("name", LATE)
def test_the_list_says_what_the_command_says(name: str) -> None:
    """A sentence that was changed in one place only would be found by a person at night."""
    said = LATE[name].imported(name).help.partition("\n\n")[0]

    assert LATE[name].help == " ".join(said.split())


def test_help_is_there_at_once() -> None:
    """It imports nothing of what takes seconds: neither Spark nor catalogs nor Slack nor the record."""
    code = (
        "import sys; from bot.cli import app; sys.argv = ['waterline', '--help'];\n"
        "try: app()\n"
        f"except SystemExit: print(sorted({HEAVY} & {{*sys.modules}}))"
    )

    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)

    assert "trust" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_mistyped_command_is_told_the_nearest() -> None:
    """As for commands that are not late."""
    said = CliRunner().invoke(app, ["trst"])

    assert said.exit_code == 2
    assert "Did you mean 'trust'?" in said.output


ANA, BEN, CLEO = (UserId(f"U0{name}0001") for name in ("ANAAA", "BENNN", "CLEOO"))
TWO_TEAMS = ApprovalPolicy(teams={"a": People(users=(ANA,)), "b": People(users=(BEN,))})


@pytest.mark.parametrize(
    ("policies", "told"),
    [
        ({"default": TWO_TEAMS}, None),
        ({"default": ApprovalPolicy(users=(ANA, BEN), different_teams=1)}, None),
        ({"default": ApprovalPolicy(users=(ANA, BEN))}, "only two people can approve"),
        ({"default": ApprovalPolicy(users=(ANA, BEN, CLEO))}, "two people approve destructive actions"),
        ({"default": ApprovalPolicy(groups=("S0APPROVE1",))}, "two people approve destructive actions"),
        ({"default": ApprovalPolicy(users=(ANA,)), "destructive": TWO_TEAMS}, None),
        ({"default": TWO_TEAMS, "destructive/sev1": ApprovalPolicy(users=(ANA, BEN))}, "only two people can approve"),
    ],
)
def test_policies_that_two_teams_cannot_fulfil_are_named(policies: dict[str, ApprovalPolicy], told: str | None) -> None:
    """A number that the policy says itself was meant; what holds by default is said with the way out."""
    setup = TableSetup(
        name=ORDERS, job=None, contract=CONTRACT, consumers=(), policies=policies, next_update_minutes=30
    )

    found = [text for _what, _is_good, text, _remedy in policies_of([setup])]

    assert [told] * (told is not None) == [told for text in found if told is not None and told in text]
    assert len(found) == (told is not None)

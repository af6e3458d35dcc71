"""Values that the contract hides are shown nowhere, whatever shape they have."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from urllib.parse import quote, quote_plus

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as some
from pyiceberg.partitioning import PartitionField as IcebergField
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import NestedField, StringType

import spark_tasks
from bot.adapters.clock import SystemClock
from bot.adapters.contracts import contract_of, merged
from bot.adapters.journal_sql import open_store
from bot.adapters.spark import SparkEvidenceRunner
from bot.evidence import Collector, find_tasks
from bot.evidence._collector import veiled
from bot.history.case import Case
from bot.incident.entries import EvidenceRecorded
from bot.incident.hidden_values import outgoing, outgoing_case, withheld_from
from bot.incident.journal import Line
from bot.incident.setup import TableSetup
from bot.observation.contract import HIDDEN, TableContract
from bot.observation.evidence import Answer, Ask, Evidence, Verdict
from bot.observation.findings import ReplayableFinding
from bot.observation.ids import EvidenceId, IncidentId, SnapshotId, TableName
from bot.observation.looked import NotSeen
from bot.observation.masking import _SHAPES, MASK, Masking
from bot.observation.replay import ReplayRange
from bot.observation.table import PartitionField, TableState, Window
from bot.ports import Delivery
from bot.service.diagnosing import build_case
from bot.slack.requests import Command, parse
from spark_tasks._support.manifest_entries import parted_by
from spark_tasks._support.words import shown
from tests.evidence.test_ledger import run_of
from tests.evidence.test_recovery_extent import reading_on, stored
from tests.orders_table import NINE
from tests.repairs.recipes import declared
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually
from tests.tables import ORDERS, OrdersTable, job, of_flink, rows

FIRST = 73_402_600_000
"""Source position of the first row; its event happens in the year 1951."""
_EARLIER = pa.scalar(timedelta(seconds=FIRST, days=75 * 365))
PARTITION = 864_209
SECRETS = {
    "source_position": re.compile(r"73,?402,?[56]\d\d,?\d{3}"),
    "source_partition": re.compile(r"864,?209"),
    "event_time": re.compile(r"19\d\d-\d\d-\d\d"),
    "customer": re.compile(r"customer-\d"),
}
TASKS = sorted(find_tasks(spark_tasks))
READABLE = TableContract(
    key=("order_id", "customer"),
    position="source_position",
    position_partition="source_partition",
    event_time="event_time",
)
Answers = Callable[[str, TableContract], Evidence]


def of_1951(made: pa.Table) -> pa.Table:
    """The same rows, of events that no other time could be taken for."""
    at = made.schema.get_field_index("event_time")
    return made.set_column(at, made.schema.field(at), pc.subtract(made["event_time"], _EARLIER))


def written(table: OrdersTable, run: str, checkpoint: int, numbers: range, *, again: int = 0) -> None:
    """One checkpoint of a run; `again`: so many positions further with the same keys."""
    places = range(FIRST + numbers.start + again, FIRST + numbers.stop + again)
    table.appends(of_1951(rows(places, partition=PARTITION, orders=numbers)), of_flink(run, checkpoint))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OrdersTable]:
    """Gaps, copies, a rollback, a manifest that leaked; parted by the partition of the source."""
    table = OrdersTable(tmp_path_factory.mktemp("whole"))
    with table.catalog.load_table(ORDERS).update_spec() as spec:
        spec.add_identity("source_partition")
    written(table, "a", 1, range(20))
    good = table.head
    written(table, "a", 2, range(20, 40))
    table.rolls_back_to(good)
    written(table, "b", 2, range(30, 60))
    written(table, "b", 3, range(50, 70))
    written(table, "c", 4, range(55, 60), again=30)
    table.appends(of_1951(rows([FIRST - 90_000], partition=PARTITION, orders=[900])))
    yield table
    table.close()


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OrdersTable]:
    """A data file is gone, and another one is named by nobody; a file is named twice."""
    table = OrdersTable(tmp_path_factory.mktemp("cut"))
    with table.catalog.load_table(ORDERS).update_spec() as spec:
        spec.add_identity("source_partition")
    written(table, "a", 1, range(20))
    written(table, "a", 2, range(20, 40))
    first, second = sorted(table.data_folder.rglob("*.parquet"))
    folder = first.parent
    table.names_again("b", 3, [str(second.relative_to(table.data_folder))])
    (folder / "00000-0-0a0b0c0d-0000-4000-8000-000000000000-00001.parquet").write_bytes(second.read_bytes())
    first.unlink()
    yield table
    table.close()


OF_FILES = {"duplicate_files", "missing_files", "orphan_files", "unreadable_files", "duplicate_commits"}


def case_of(evidence: Evidence, table: OrdersTable, contract: TableContract) -> Case:
    """What a case would be saved of."""
    ask = asked(table, contract)
    setup = TableSetup(name=ORDERS, job=None, contract=contract, consumers=(), policies={}, next_update_minutes=30)
    return build_case(setup, ask.observation, ask.window, (evidence,))


def line(body: str) -> Line:
    """An entry as it is stored."""
    return Line(
        incident_id=IncidentId("wl-1"), seq=1, kind="evidence-recorded", once=None, at="", by="", body=body,
        prev_hash="", hash="",
    )  # fmt: skip


def asked(table: OrdersTable, contract: TableContract) -> Ask:
    """About everything, with all sources there."""
    point = reading_on(stored(job("b"), 2, owes=()), FIRST + 60)
    ask = table.ask(
        None, contract=contract, jobs=[run_of("b")], checkpoints=[point], flink_manifests=table.flink_manifests()
    )
    return ask.model_copy(update={"replay": declared(f"range({FIRST}, {FIRST + 100})")})


@pytest.fixture
def answers(runner: SparkEvidenceRunner, whole: OrdersTable, cut: OrdersTable) -> Answers:
    """What a task answers under a contract, as the record keeps it."""
    collector = Collector(find_tasks(spark_tasks), runner, SystemClock())

    def put(task: str, contract: TableContract) -> Evidence:
        return collector.collect(
            task,
            asked(cut if task in OF_FILES else whole, contract),
            run=EvidenceId(f"{task}-{len(contract.redacted)}"),
        )

    return put


TELLS = {
    ("duplicate_rows", "customer"), ("ledger", "event_time"),
    ("ledger", "source_partition"), ("ledger", "source_position"),
    ("missing_files", "source_partition"), ("missing_positions", "source_partition"),
    ("missing_positions", "source_position"), ("orphan_files", "source_partition"),
    ("recovery_extent", "source_position"), ("replayable_rows", "source_partition"),
    ("replayable_rows", "source_position"),
    ("replayed_rows", "source_position"), ("unreadable_files", "source_partition"),
}  # fmt: skip
"""Which values answers would tell otherwise."""
SPEAKING = {task for task, _column in TELLS}
LONG = pytest.mark.long


@pytest.mark.parametrize("task", [each if each in SPEAKING else pytest.param(each, marks=LONG) for each in TASKS])
def test_no_answer_tells_the_value_of_a_hidden_column(task: str, answers: Answers, whole: OrdersTable) -> None:
    """Words, samples and finding; as JSON, in a saved case, and in the file of a record."""
    for hidden in (("event_time",), tuple(set(SECRETS) - {"event_time"})):
        contract = READABLE.model_copy(update={"redacted": hidden})
        evidence = answers(task, contract)

        said = {
            "words": evidence.model_copy(update={"finding": None}).model_dump_json(),
            "finding": outgoing(evidence, contract).model_dump_json(),
            "case": outgoing_case(case_of(evidence, whole, contract), contract).model_dump_json(),
        }

        secrets = [SECRETS[column] for column in hidden]
        found = {(where, each.pattern): each.findall(text)[:3] for each in secrets for where, text in said.items()}
        assert {where: told for where, told in found.items() if told} == {}
        kept = EvidenceRecorded(run=evidence.id, evidence=evidence).model_dump_json()
        is_told = any(each.search(kept) for each in secrets)
        assert not is_told or withheld_from([line(kept)], contract) == {1}, kept


@pytest.mark.slow
@pytest.mark.parametrize("task", sorted(SPEAKING))
def test_where_nothing_is_hidden_the_answer_tells_it(task: str, answers: Answers) -> None:
    """So the test above can fail."""
    told = answers(task, READABLE).model_dump_json()

    assert [column for column in sorted(SECRETS) if SECRETS[column].search(told)] == sorted(
        column for each, column in TELLS if each == task
    )


@pytest.mark.parametrize("hidden", ["event_time", "EVENT_TIME", "source_position"])
def test_the_event_times_of_a_replay_do_not_leave(hidden: str) -> None:
    """They are acted on, so the record keeps them; the file of a record is without that entry."""
    then = datetime(4296, 1, 2, tzinfo=UTC)
    bounds = ReplayRange(event_from=then, event_until=then)
    found = ReplayableFinding(
        bounds=bounds, missing=None, given=1, repeated=0, absent=1, elsewhere=0, not_given=None, event_from=then,
        event_until=then, digest="1-1-1",
    )  # fmt: skip
    contract = READABLE.model_copy(update={"redacted": (hidden,)})
    evidence = Evidence(
        verdict=Verdict.CONFIRMED, headline="It gives 1 row.", finding=found, id=EvidenceId("1"),
        task="replayable_rows", task_version=1, question="?", metadata_location="m.json", head=None,
        window=Window(since=None, until=SnapshotId(1)), at=then.replace(year=2026), took_ms=1, bytes_read=0,
    )  # fmt: skip

    left = outgoing(evidence, contract).model_dump_json()
    withheld = withheld_from([line(evidence.model_dump_json())], contract)

    is_hidden = hidden.casefold() == "event_time"
    assert is_hidden is ("4296-01-02" not in left)
    assert is_hidden is bool(withheld)


SECRET, MARK = "ACME", "M4rk3dS3cr3t"


@pytest.mark.parametrize("made_of", ["{}", "{}_trunc", "{}_bucket_16", "{}_trunc_3"])
@pytest.mark.parametrize("field", ["address", "address.city", "Address.City", "address.geo.lat"])
def test_a_hidden_struct_hides_its_fields_and_what_is_made_of_them(field: str, made_of: str) -> None:
    """A contract that classifies one field hides the struct, and tables are partitioned by such fields. Engines name a
    partition after its column: the first letters of a name tell the name."""
    hides = TableContract(redacted=("address",))
    name = made_of.format(field)

    assert hides.hides(field)
    assert hides.veiled(f"data/{name}={SECRET}/day=2026-11-03") == f"data/{name}={HIDDEN}/day=2026-11-03"


@pytest.mark.parametrize(
    ("redacted", "field"),
    [
        *(("address", field) for field in ("addresses.city", "home.address", "city")),
        *(("address.city", field) for field in ("address.street", "address")),
        ("customer", "customers"),
        *(("Kunde Name", field) for field in ("Name", "Kunde+Name2", "My+Kunde+Name", "Kunde_Name", "Kunde.Name")),
    ],
)
def test_a_name_that_only_looks_like_a_hidden_one_is_shown(redacted: str, field: str) -> None:
    """The same letters elsewhere are another column, a blank is no other character, and a part of a name no name."""
    hides = TableContract(redacted=(redacted, "customer.name"))

    assert not hides.hides(field)
    assert hides.veiled(f"data/{field}={SECRET}/1.parquet") == f"data/{field}={SECRET}/1.parquet"


def test_a_hidden_field_hides_what_lies_within_it() -> None:
    """Not the other fields of its struct."""
    hides = TableContract(redacted=("address.city",))

    assert hides.hides("address.city")
    assert hides.hides("address.city.part")


def test_no_partition_by_a_field_of_a_hidden_struct_is_read_from_manifests() -> None:
    """The ledger and notices tell only what `parted_by` lists."""
    fields = tuple(PartitionField(words=name, name=name, type="string") for name in ("address.city", "region"))
    table = cast(TableState, SimpleNamespace(spec_fields={0: fields}))

    told = parted_by(table, TableContract(redacted=("address",)))

    assert ["region"] == [each.field.words for each in told]


@pytest.mark.parametrize("name", ["Kunde Name", "größe", "GRÖSSE (cm)", "customer#id", "a+b", "a=b", "100%", "顧客"])
@pytest.mark.parametrize("of", ["{}", "{}_trunc", "{}_bucket_16", "{}.teil"])
def test_a_name_is_hidden_however_an_engine_writes_it(name: str, of: str) -> None:
    """Iceberg escapes it as in a form, others as in an address, older writers not at all."""
    hides = TableContract(redacted=("region", name))
    written = of.format(name)

    for field in (quote_plus(written, safe=""), quote(written, safe="").lower(), written):
        told = hides.veiled(f"s3://lake/orders/data/day=2026-11-03/{field}={SECRET}/1.parquet")

        assert told == f"s3://lake/orders/data/day=2026-11-03/{field}={HIDDEN}/1.parquet"


def test_the_path_that_iceberg_itself_makes_is_hidden() -> None:
    """Not a form of ours: the library's own."""
    schema = Schema(NestedField(1, "Größe #1 in cm", StringType()))
    spec = PartitionSpec(IcebergField(1, 1000, IdentityTransform(), "Größe #1 in cm"))
    path = spec.partition_to_path(Record(SECRET), schema)

    told = TableContract(redacted=("GRÖßE #1 in cm",)).veiled(f"data/{path}/1.parquet")

    assert SECRET in path
    assert told.endswith(f"={HIDDEN}/1.parquet")


def test_several_partitions_of_one_path_are_hidden_each() -> None:
    """What stands between them stays."""
    hides = TableContract(redacted=("Kunde Name", "customer"))

    told = hides.veiled(f"data/Kunde+Name={SECRET}/day=2026-11-03/customer_trunc=AC/1.parquet is gone.")

    assert told == f"data/Kunde+Name={HIDDEN}/day=2026-11-03/customer_trunc={HIDDEN}/1.parquet is gone."


REDACTION_ORDERS = TableName("sales.orders")
CONTRACT = """
apiVersion: v3.1.0
kind: DataContract
id: orders
version: 1.0.0
status: active
schema:
- name: orders
  physicalName: sales.orders
  properties:
  - {{name: order_id, logicalType: string, primaryKey: true}}
  - {{name: customer, logicalType: string{classification}}}
  - name: address
    logicalType: object
    properties:
    - {{name: city, logicalType: string}}
    - {{name: street, logicalType: string{classification}}}
"""


def contract(folder: Path, classification: str | None) -> TableContract:
    """The contract of a file in which customer and street carry this classification."""
    said = "" if classification is None else f', classification: "{classification}"'
    path = folder / "orders.odcs.yaml"
    path.write_text(CONTRACT.format(classification=said))
    return contract_of(path, REDACTION_ORDERS)


@pytest.mark.parametrize("classification", ["restricted", "Confidential", "PII", "secret", "a word of our own"])
def test_any_classification_but_an_open_one_hides_the_column(tmp_path: Path, classification: str) -> None:
    """The standard names no list of words: one that Waterline does not know is taken for the strictest."""
    assert contract(tmp_path, classification).redacted == ("customer", "address")


@pytest.mark.parametrize("classification", [None, "public", "Internal", "open"])
def test_an_open_classification_hides_nothing(tmp_path: Path, classification: str | None) -> None:
    """What anybody in the company may see, responders may."""
    assert contract(tmp_path, classification).redacted == ()


def test_the_policy_adds_to_the_classification_and_an_empty_one_shows_all(tmp_path: Path) -> None:
    """Hiding one more column shows none that the contract hides."""
    filed = contract(tmp_path, "restricted")

    assert merged(TableContract(redacted=("order_id",)), filed).redacted == ("customer", "address", "order_id")
    assert merged(TableContract(redacted=()), filed).redacted == ()
    assert merged(TableContract(), filed).redacted == ("customer", "address")


@pytest.mark.parametrize("column", ["customer", "CUSTOMER", "Customer"])
def test_a_name_in_another_case_is_the_same_column(column: str) -> None:
    """Engines do not tell them apart, so neither does the policy."""
    assert shown(column, "ACME", TableContract(redacted=("customer",))) == HIDDEN


def test_no_part_of_an_answer_shows_the_partition_of_a_hidden_column() -> None:
    """Paths carry values of columns; what they carry of others stays."""
    path = "s3://lake/orders/data/day=2026-11-03/customer=ACME/00001.parquet"
    missing = NotSeen(source=path, reason=f"{path} is gone.", remedy="Look.")
    answer = Answer(
        verdict=Verdict.CONFIRMED,
        headline=f"File {path} cannot be read.",
        columns=("file",),
        rows=((path,),),
        sources=(path,),
        could_not_look=(missing,),
    )

    told = veiled(answer, TableContract(redacted=("Customer",))).model_dump_json()

    assert "ACME" not in told
    assert told.count(f"customer={HIDDEN}") == told.count("day=2026-11-03") == 5


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
        (f"before xoxb-2345-{MARK} after", MARK),
        (f"before xapp-1-{MARK} after", MARK),
        (f"before https://ana:{MARK}@host/x after", MARK),
        (f"before jdbc password={MARK} after", MARK),
        (f'before {{"s3.secret-access-key": "{MARK}"}} after', MARK),
        (f"before Authorization: Bearer {MARK}abc after", MARK),
        (f"before ?X-Amz-Signature={MARK} after", MARK),
        (f"before eyJhbGciOiJIUzI1NiJ9.{MARK}.{MARK} after", MARK),
        ("before AKIAM4RKM4RKM4RKM4RK after", "M4RKM4RK"),
    ],
)
def test_no_credential_of_an_address_or_a_header_stays(text: str, secret: str) -> None:
    """Of S3, GCS and Azure, of the header, of Slack, or a password: what this process does not know is masked where it
    can be told from a word. What stands around it stays."""
    masked = Masking().text(text)

    assert secret not in masked
    assert MASK in masked
    assert masked.split(MASK)[0] in text


PIECES = [
    *("xoxb-", "xoxe.xoxp-", "xapp-", "AKIA", "ASIA", "ABCDEFGH12345678", "eyJ", "abcdefghi.", "ghp_", "ghs_"),
    *(
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "://",
        "user",
        ":",
        "pw",
        "@",
        "Bearer ",
        "basic\t",
        "Authorization: ",
        "dXNlcjpwYXNz",
    ),
    *(
        "PassWord",
        "passwd",
        "Secret_Key",
        "secretAccessKey",
        "client.secret",
        "access-token",
        "Session_Token",
        "API_key",
    ),
    *(
        "sig",
        "X-Amz-Signature",
        "X-Goog-Credential",
        "?Signature",
        "'",
        '"',
        "=",
        ": ",
        " ",
        "\n",
        "{",
        "&",
        "abcdefghij0123456789ab",
        "ſ",
        "ı",
        "é",
    ),
]


@given(pieces=some.lists(some.sampled_from(PIECES), max_size=9))
def test_what_has_the_shape_of_a_secret_is_masked_as_without_the_quick_look(pieces: list[str]) -> None:
    """Its cue is there wherever the pattern is in either case of letters; other alphabets are not trusted to it."""
    text = "".join(pieces)

    masked = Masking().text(text)

    searched = text
    for shape in _SHAPES:
        searched = shape.pattern.sub(shape.instead, searched)
    assert masked == searched


@pytest.mark.parametrize("letter", ["ſ", "é"])
def test_letters_that_count_as_ours_hide_no_secret(letter: str) -> None:
    """The long s is an s to a search that looks past case, and not to `lower`."""
    masked = Masking().text(f"{letter}ig paſſword=hunter22")

    assert "hunter22" not in masked


KEY = "-----BEGIN RSA PRIVATE KEY-----"


@pytest.mark.parametrize("said", ["the sink says: ", "die Senke sagt für uns · "])
@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (f'uses "jdbc:x://h/o?password={MARK}", rows', f'uses "jdbc:x://h/o?password={MASK}", rows'),
        (f'at "s3.secret-access-key={MARK}"', f'at "s3.secret-access-key={MASK}"'),
        (f'see "https://h/x?sig={MARK}"', f'see "https://h/x?sig={MASK}"'),
        (f"expected {KEY} at line 1", f"expected {MASK}"),
        ("C:\\tmp\nAKIAM4RKM4RKM4RKM4RK\\n", f"C:\\tmp\n{MASK}\\n"),
    ],
)  # fmt: skip
def test_a_delivery_that_quotes_a_secret_stays_what_was_asked(tmp_path: Path, said: str, typed: str, kept: str) -> None:
    """The mask ends where the field ends, whatever signs JSON needs for what stands in it."""
    store = open_store(f"sqlite:///{tmp_path}/journal.db", Masking())
    body = {
        "command": "/waterline", "text": said + typed, "user_id": "U1", "channel_id": "C1", "trigger_id": "1.2",
        "token": MARK, "response_url": f"https://hooks.slack.com/{MARK}",
    }  # fmt: skip
    store.inbox.put(Delivery(key="typed", kind="command", payload=json.dumps(body), received_at=NINE))

    delivery = store.inbox.claim(NINE)

    request = parse(delivery)
    assert isinstance(request, Command)
    assert request.text == (said + kept).strip()
    assert (json.loads(delivery.payload)["token"], json.loads(delivery.payload)["response_url"]) == (MASK, MASK)
    store.close()


def test_a_note_that_quotes_a_secret_is_noted_and_answered(ana: Responder, bot: LittleBot) -> None:
    """In the whole bot, over Slack."""
    ana.opens()

    ana.types(f'/waterline note it uses "jdbc:postgresql://h/o?user=x;password={MARK}", that is staging')

    eventually(lambda: any(entry.body.kind == "note-added" for entry in entries(bot)))
    [note] = [entry.body.text for entry in entries(bot) if entry.body.kind == "note-added"]
    assert f'password={MASK}", that is staging' in note


def entries(bot: LittleBot):  # type: ignore[no-untyped-def]
    """What stands in the record of the incident."""
    return bot.services.store.get(IncidentId("wl-1")).entries

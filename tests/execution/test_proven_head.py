"""What others commit while the table is proven is proven by nobody."""

from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

import spark_tasks
from bot import actions
from bot.actions._scan import scan
from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.store import open_store
from bot.domain.entries import Verified
from bot.domain.evidence import Answer, Ask, Progress, Task
from bot.domain.table import TableState
from bot.evidence import Collector, find_tasks
from bot.ports import TableChange
from bot.service.evidence_desk import EvidenceDesk
from bot.service.incident_store import IncidentStore
from bot.service.verifying import Verifier
from tests.little_flink import open_catalog
from tests.rewound import ANA, PROPOSAL, Damaged
from tests.slack.looking import ArrowRunner
from tests.tables import ORDERS, rows


class Interrupted(ArrowRunner):
    """Somebody does something to the table while the first task counts."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        super().__init__()
        self._meanwhile = meanwhile

    def run(self, task: Task, ask: Ask, *, tag: str, on_progress: Callable[[Progress], None]) -> tuple[Answer, int]:
        """See the port."""
        answer = super().run(task, ask, tag=tag, on_progress=on_progress)
        if self.runs == 1:
            self._meanwhile()
        return answer


@pytest.fixture
def damaged(tmp_path: Path) -> Damaged:
    """A rewind of it was approved, by a record that each test opens."""
    return Damaged.made_in(tmp_path)


@pytest.fixture
def store(damaged: Damaged) -> Iterator[IncidentStore]:
    """The rewind was carried out."""
    with closing(open_store(f"sqlite:///{damaged.folder}/journal.db")) as record:
        store = IncidentStore(record.journal, SystemClock())
        incident, executions = damaged.approved(store), damaged.executions(store)[0]
        executions.begin(incident, PROPOSAL, by=ANA)
        executions.carry_on(incident, PROPOSAL)
        yield store


def test_a_commit_from_inside_a_proof_is_not_part_of_what_is_proven(damaged: Damaged, store: IncidentStore) -> None:
    """The second proof has read it, the first one has not: nobody may be told to rely on it."""
    head = table(damaged).head

    proof = proves(damaged, store, lambda: backfills(damaged))

    assert proof.passed
    assert table(damaged).head != head
    assert proof.head == head


def test_a_table_that_is_moved_away_from_under_a_proof_is_not_proven(damaged: Damaged, store: IncidentStore) -> None:
    """What was read is no part of the table any more."""
    proof = proves(damaged, store, lambda: rolls_back(damaged))

    assert not proof.passed
    assert [check.name for check in proof.checks if check.passed is False] == [
        "The verified snapshot is still in the table"
    ]
    assert proof.head == table(damaged).head


def table(damaged: Damaged) -> TableState:
    return damaged.catalog.load(ORDERS)


def backfills(damaged: Damaged) -> None:
    """Another engine appends what belongs there."""
    with closing(open_catalog(damaged.folder)) as catalog:
        catalog.load_table(ORDERS).append(rows(range(70, 73)))


def rolls_back(damaged: Damaged) -> None:
    """By hand, to before the job's last commit."""
    now = table(damaged)
    change = TableChange(expected_uuid=now.uuid, expected_head=now.head, move_main_to=now.chain[1].snapshot_id)
    damaged.catalog.commit(ORDERS, change)


def proves(damaged: Damaged, store: IncidentStore, meanwhile: Callable[[], None]) -> Verified:
    """The proof, while something happens."""
    observer = damaged.executions(store)[0]._observer  # the one over this table
    collector = Collector(find_tasks(spark_tasks), Interrupted(meanwhile), SystemClock())
    with closing(EvidenceDesk(store, observer, collector, lambda _work: nullcontext(True))) as desk:
        verifier = Verifier(store, observer, desk, scan(actions), SystemClock())
        proof = verifier.verify(store.all()[0].id, PROPOSAL)
        assert proof is not None
        return proof

"""Approvals raced against commits, without a browser or a cluster: real catalog, journal, approval and execution.

`python -m tests.chaos.racing --races 500 [--seed 1]`: each race begins at a prepared table. A run commits all the
time, a stranger may commit at any moment, and meanwhile a recovery is approved and carried out. Afterwards no commit
may be lost: whatever a writer was told is committed is under main's head, or was named by the approved proposal as
what leaves it and is kept under its tag. Source positions are in main once, or the recovery was refused; where that
was after the table had moved (a stranger came before the job's start), the record says so.
"""

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pyiceberg.exceptions import CommitFailedException

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.store import open_store
from bot.incident.decisions import Approve
from bot.incident.effects import MoveTable
from bot.incident.execution import ProposalState, ProposalView
from bot.observation.errors import Refused, Superseded
from bot.observation.ids import IncidentId, JobId
from bot.ports import Stopped
from bot.service.incident_store import IncidentStore
from bot.service.proposals.approving import Approvals
from tests.little_flink import ROWS_A_CHECKPOINT, LittleFlink, open_catalog
from tests.rewound import ANA, BEN, PROPOSAL, WRONG_RUN, Damaged, Nobody
from tests.tables import ORDERS, rows

_STRANGER_AT = 1_000_000
"""Source positions from here on are a stranger's rows: no run of the job writes them."""
Ended = Literal["applied", "refused"]


class BusyFlink(LittleFlink):
    """Its runs commit in a thread, as often as they can; a stop waits for the commit under way, as Flink's does."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._turn = threading.RLock()
        self.committed: list[int] = []
        """Snapshots that the run was told are committed."""

    def commit_until(self, ended: threading.Event, pause_s: float) -> None:
        """Checkpoint after checkpoint of the wrong run, while it is there."""
        while not ended.is_set():
            with self._turn:
                if self._read()[WRONG_RUN]["state"] == "RUNNING":
                    self._checkpoint()
            time.sleep(pause_s)

    def _checkpoint(self) -> None:
        before = self._file.read_text()
        try:
            self.checkpoints(WRONG_RUN)
        except CommitFailedException:
            self._file.write_text(before)  # as Flink: the next try has the same checkpoint
            return
        with closing(open_catalog(self._folder)) as catalog:
            table = catalog.load_table(ORDERS)
        mine = [s for s in table.metadata.snapshots if s.summary and s.summary.get("flink.job-id") == WRONG_RUN]
        self.committed.append(mine[-1].snapshot_id)

    def stop(self, job: str, job_id: JobId, *, needs_state: bool = False, keeps_checkpoints: bool = False) -> Stopped:
        with self._turn:
            return super().stop(job, job_id, needs_state=needs_state, keeps_checkpoints=keeps_checkpoints)

    def start(self, job: str, path: str, job_id: JobId) -> None:
        """See the port. Its first commits meet the stranger's, and go on top of them."""
        while True:
            with self._turn:
                try:
                    super().start(job, path, job_id)
                except CommitFailedException:
                    continue
                return


@dataclass
class Raced:
    """What came of the races."""

    ended: Counter[Ended] = field(default_factory=Counter)
    commits: int = 0
    strangers: int = 0
    lost: list[str] = field(default_factory=list)
    took_s: float = 0.0

    def told(self) -> str:
        races = sum(self.ended.values())
        return (
            f"{races} approvals raced against {self.commits} commits of the run and {self.strangers} of strangers in "
            f"{self.took_s:.0f} s: {self.ended['applied']} applied, {self.ended['refused']} refused, "
            f"{len(self.lost)} lost commits or repeated rows"
        )


@contextmanager
def stage() -> Iterator[tuple[Path, Path]]:
    """(here, prepared): a table knows its own place, so each race gets it back at the same one."""
    with tempfile.TemporaryDirectory(prefix="races-") as root:
        here, prepared = Path(root) / "here", Path(root) / "prepared"
        here.mkdir()
        Damaged.made_in(here)
        shutil.copytree(here, prepared)
        yield here, prepared


def race(here: Path, prepared: Path, chance: random.Random, raced: Raced) -> None:
    """One: approve and carry out while others commit; then look at the table."""
    began = time.monotonic()
    shutil.rmtree(here)
    shutil.copytree(prepared, here)
    damaged = Damaged(here)
    damaged.flink = flink = BusyFlink(here)
    ended = threading.Event()
    strangers: list[int] = []
    others = [
        threading.Thread(target=flink.commit_until, args=(ended, chance.uniform(0, 0.02))),
        threading.Thread(target=_stranger, args=(here, chance.expovariate(2), ended, strangers)),
    ]
    with closing(open_store(f"sqlite:///{here}/journal.db")) as record:
        store = IncidentStore(record.journal, SystemClock())
        incident, _ = damaged.proposed(store)
        for each in others:
            each.start()
        try:
            time.sleep(chance.uniform(0, 0.1))
            _approve_and_carry_out(damaged, store, incident)
        finally:
            ended.set()
            for each in others:
                each.join()
        view = store.get(incident).proposals[PROPOSAL]
        raced.lost += [f"the record: {fault.sentence}" for fault in record.journal.verify()]
    outcome: Ended = "applied" if view.state is ProposalState.APPLIED else "refused"
    raced.ended[outcome] += 1
    raced.commits += len(flink.committed)
    raced.strangers += len(strangers)
    raced.lost += lost(here, outcome, flink.committed, strangers, has_moved=_has_moved(view))
    if view.state not in {ProposalState.APPLIED, ProposalState.REFUSED, ProposalState.SUPERSEDED}:
        raced.lost.append(f"the proposal ended as {view.state.value}")
    damaged.catalog.close()
    raced.took_s += time.monotonic() - began


def _approve_and_carry_out(damaged: Damaged, store: IncidentStore, incident: IncidentId) -> None:
    executions, proposals = damaged.executions(store)
    approvals = Approvals(store, proposals, Nobody(), SystemClock())
    digest = store.get(incident).proposals[PROPOSAL].proposal.digest
    try:
        approvals.act(incident, PROPOSAL, Approve(digest=digest), by=BEN)
        executions.begin(incident, PROPOSAL, by=ANA)
    except (Refused, Superseded):
        return
    executions.carry_on(incident, PROPOSAL)


def _stranger(here: Path, after_s: float, ended: threading.Event, committed: list[int]) -> None:
    """Somebody else's append, at a moment of their own, tried until it is in."""
    if ended.wait(after_s):
        return
    while True:
        with closing(open_catalog(here)) as catalog:
            try:
                table = catalog.load_table(ORDERS)
                table.append(rows(range(_STRANGER_AT, _STRANGER_AT + 5)), snapshot_properties={"app-id": "local-17"})
            except CommitFailedException:
                continue
            committed += [s.snapshot_id for s in table.metadata.snapshots if (s.summary or {}).get("app-id")]  # type: ignore[attr-defined]
            return


def lost(here: Path, outcome: Ended, of_run: list[int], of_strangers: list[int], *, has_moved: bool) -> Iterator[str]:
    """One sentence for each commit that a writer was told of and that is gone, and for rows that are there twice.
    `has_moved`: the record says that the table was moved, so that the tag may keep what left main."""
    with closing(open_catalog(here)) as catalog:
        table = catalog.load_table(ORDERS)
        found = Counter(table.scan(selected_fields=("source_position",)).to_arrow()["source_position"].to_pylist())
    main = _under(table, "main")
    kept = _under(table, "wl-1-left") if has_moved else set()
    yield from (f"a stranger's commit {each} is not in main" for each in of_strangers if each not in main)
    yield from (f"the run's commit {each} is nowhere" for each in of_run if each not in main | kept)
    if outcome == "applied":
        own = {place: times for place, times in found.items() if place < _STRANGER_AT}
        wrong = [place for place, times in own.items() if times != 1]
        if wrong or sorted(own) != list(range(len(own))) or len(own) % ROWS_A_CHECKPOINT:
            yield f"after the recovery {len(wrong)} positions are repeated, {len(own)} are there"


def _has_moved(view: ProposalView) -> bool:
    """Whether the record says that main was moved, whatever came of the rest."""
    ended = view.done.get(next(i for i, each in enumerate(view.proposal.effects) if isinstance(each, MoveTable)))
    return ended is not None and ended.how == "done"


def _under(table, ref: str) -> set[int]:  # type: ignore[no-untyped-def]
    """The snapshots that a branch or tag has under it, itself included."""
    known = {snapshot.snapshot_id: snapshot for snapshot in table.metadata.snapshots}
    at = table.metadata.refs[ref].snapshot_id if ref in table.metadata.refs else None
    chain = set()
    while at is not None and at in known:
        chain.add(at)
        at = known[at].parent_snapshot_id
    return chain


def main() -> int:
    """Run the races; 1 if a commit was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--races", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    raced, chance = Raced(), random.Random(asked.seed)  # noqa: S311 - a seed that can be given again
    with stage() as (here, prepared):
        for number in range(1, asked.races + 1):
            race(here, prepared, chance, raced)
            if number % 25 == 0 or number == asked.races:
                print(raced.told(), flush=True)  # noqa: T201
            if raced.lost:
                print("\n".join(raced.lost), flush=True)  # noqa: T201
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What happens to a table beside its job: maintenance, other jobs, Spark, and Flink's own memory."""

from bot.observation.ids import OperatorId
from tests.cases import NOON
from tests.diagnosis.histories.history import History
from tests.diagnosis.histories.reading import writer_id

GUEST = "z"
GUESTS_SINK = OperatorId("ee" * 16)


def compacts(history: History) -> None:
    history.job.passes(8)
    history.table.is_compacted()


def expires(history: History) -> None:
    """`expire_snapshots` with more or less retention."""
    history.table.expires_but(history.draw.choice([1, 2, 4, 8]))


def forgets_runs(history: History) -> None:
    """Flink lists runs that have ended for a while only; the newest it lists still."""
    newest = history.job.run
    for name in [name for name, run in history.tale.runs.items() if run.is_terminal and name != newest]:
        history.tale.forgets(name)


def commits_of_a_guest(history: History) -> None:
    """Another job on the table, with a source, a uid and checkpoint ids of its own."""
    if not history.has_guest:
        history.has_guest = True
        history.guest_checkpoint = history.draw.choice([0, 3, 500])
        if history.setting.lists_guest:
            history.tale.flink_runs(GUEST, restored=history.guest_checkpoint or None, v1=history.sink.is_v1)
            theirs = {"name": "other", "started_at": NOON}
            history.tale.runs[GUEST] = history.tale.runs[GUEST].model_copy(update=theirs)
    for _ in range(history.draw.randint(1, 3)):
        history.guest_checkpoint += 1
        history.job.passes(8)
        files = ((writer_id(GUEST, 0), history.guest_checkpoint),)
        history.table.adds(GUEST, history.guest_checkpoint, (), sink=GUESTS_SINK, files=files)
        history.tale.counts(added_records=5, added_data_files=1)


def overwrites_by_spark(history: History) -> None:
    """The newest rows are written anew, with the same source positions."""
    rows = tuple(history.table.live_now[-3:])
    if rows:
        history.job.passes(20)
        history.table.is_changed("overwrite", rows, takes=frozenset(rows))
        history.others_wrote = True


def appends_by_spark(history: History) -> None:
    """Rows that are not of the job's source."""
    history.job.passes(20)
    history.table.is_changed("append", told={"added-records": "5", "added-data-files": "1"})
    history.others_wrote = True


def publishes_after_audit(history: History) -> None:
    """Write, audit, publish: staged rows come to main, by a fast forward or, where main has moved on, by a pick."""
    history.job.passes(20)
    added = {"added-records": "4", "added-data-files": "1"}
    before = history.head
    staged = history.table.is_changed("append", told={**added, "wap.id": "w1"}, staged=True)
    if history.draw.random() < 0.6 and history.job.can_go_on:
        history.job.reads()
    history.job.passes(20)
    history.others_wrote = True
    if history.head == before:
        history.table.is_set_to(staged)
    else:
        picked = {"published-wap-id": "w1", "source-snapshot-id": str(staged)}
        history.table.is_changed("append", told=added | picked)

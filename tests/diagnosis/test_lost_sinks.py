"""F5 and F12: a drained job, and a sink whose old state owed something."""

from typing import Any

from bot.diagnosis import healthy, job_was_drained
from bot.diagnosis import sink_lost_its_state as mode
from bot.history.case import Case
from bot.incident.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.observation.findings import GapsFinding, LeakStanding, PositionGap
from bot.observation.ids import DRAINED, OperatorId
from tests.cases import OPERATOR, Tale, job_id
from tests.diagnosis.answers import LastGood, Rows, WrongRun, answer_table, check
from tests.found import leaks, point, points

NEW = OperatorId("cc" * 16)


def changed(*, v1: bool = True) -> Tale:
    """`a` committed 3 and owed 4; `b` was restored from 4 under another uid."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", 1, 2, 3).completes("a", 4).becomes("a", "CANCELED")
    tale.leaves_manifest("a", 4).flink_runs("b", restored=4, v1=v1)
    committer = tale.runs["b"].vertices[1].model_copy(update={"vertex_id": NEW})
    return tale.shows("b", vertices=(tale.runs["b"].vertices[0], committer)).completes("b", 5)


def commits_as_new(tale: Tale, *checkpoints: int) -> Tale:
    """The new sink's commits carry its new operator id."""
    for checkpoint in checkpoints:
        tale.commits("b", checkpoint).by_sink(NEW)
    return tale


def runs_as(tale: Tale, run: str, operator: str, *checkpoints: int, restored: int | None = None) -> Tale:
    """The next run commits under this operator id, which its manifests bear too."""
    if tale.runs:
        tale.becomes(next(reversed(tale.runs)), "FINISHED")
    tale.flink_runs(run, restored=restored)
    for checkpoint in checkpoints:
        tale.completes(run, checkpoint).commits(run, checkpoint).by_sink(OperatorId(operator * 16))
    return tale


def several(last: str) -> Tale:
    """The uid changes twice: `a` owes 3 under the first, `b` under the second nothing."""
    tale = runs_as(Tale(), "a", "d1", 1, 2)
    tale.leaves_manifest("a", 3, operator=OperatorId("d1" * 16))
    runs_as(tale, "b", "d2", 4, 5, restored=3)
    return runs_as(tale, "c", last, 6, 7, restored=5)


def waiting(tale: Tale) -> object:
    """Nobody could look whether a restore point lists the old sink's manifest."""
    return leaks(*tale.manifests, standing=LeakStanding.PENDING)


def drained() -> Tale:
    """As run on Flink 1.20.3 with the V1 sink: 1 and 2 committed, then stopped with `drain: true`."""
    return Tale().flink_runs("a", v1=True).commits("a", 1, 2, DRAINED).becomes("a", "FINISHED")


def restored() -> Tale:
    """Restored from the drained savepoint: checkpoints complete and nothing is committed."""
    return drained().flink_runs("b", restored=3, v1=True).completes("b", 4, 5)


def replaced(v1: bool = True) -> Tale:
    """Run b came after the drained commit and completed checkpoint 4; run c has committed since."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, DRAINED).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=3, v1=v1).completes("b", 4).leaves_manifest("b", 4).becomes("b", "CANCELED")
    return tale.flink_runs("c", v1=True).commits("c", 1)


def test_what_it_says_names_both_commits_and_appends_the_rows() -> None:
    """Unless some of them came again; where all did, nothing is left to be done."""
    tale = replaced()
    dropped = leaks(*tale.manifests, standing=LeakStanding.DROPPED, positions=(20, 29))
    part = GapsFinding(lowest=0, highest=99, positions=95, missing=5, gaps=(PositionGap(first=25, last=29),))
    whole = GapsFinding(lowest=0, highest=99, positions=100, missing=0, gaps=())

    found, there, mended = (
        job_was_drained.examine(tale.looked_at(leaked=dropped, gaps=gaps)) for gaps in (None, part, whole)
    )

    assert isinstance(mended, Excluded)
    assert (found.rows, found.last_good) == ((tale.at("a", DRAINED), tale.at("c", 1)), tale.at("a", DRAINED))
    assert "the sink of a run that was restored from a state of that job" in found.reasons[0]
    assert (found.remedy, there.remedy) == (Remedy.RECOVER_LEAKED_MANIFESTS, Remedy.REPLAY_SOURCE_RANGE)


def leaving(run: str, checkpoint: int, *, operator: OperatorId = OPERATOR) -> Tale:
    """The uid was changed and the new sink has committed; this is what lies on storage."""
    tale = commits_as_new(changed(), 5)
    tale.manifests.clear()
    return tale.leaves_manifest(run, checkpoint, operator=operator)


def nothing_left() -> Tale:
    """The cure of F7 and F8 changes the uid, too."""
    tale = leaving("a", 4)
    tale.manifests.clear()
    return tale


def restarted_beside_another() -> Tale:
    """Our run was restarted while another job wrote, under the uid that it always had."""
    tale = runs_as(Tale(), "a", "d1", 1, 2)
    tale.leaves_manifest("a", 3, operator=OperatorId("d1" * 16))
    runs_as(tale, "b", "d2", 4)
    tale.shows("b", name="backfill")
    return runs_as(tale, "c", "d1", 5, 6, restored=2)


def before_the_new_sink_commits(run: str = "a", checkpoint: int = 4, *, v1: bool = False) -> Tale:
    """Of this run a manifest of this checkpoint is left."""
    tale = changed(v1=v1)
    tale.manifests.clear()
    return tale.leaves_manifest(run, checkpoint)


def under_the_old_uid() -> Tale:
    """Run b goes on under the uid that run a had."""
    tale = changed()
    committer = tale.runs["b"].vertices[1].model_copy(update={"vertex_id": OPERATOR})
    return tale.shows("b", vertices=(tale.runs["b"].vertices[0], committer))


def gone_since(run: str) -> Case:
    """What this run had left was seen, and is on storage no more."""
    tale = before_the_new_sink_commits(run)
    left = waiting(tale)
    tale.manifests.clear()
    return tale.looked_at(leaked=left)


def unseen_between() -> Tale:
    """Flink tells neither run b's operators nor what it was restored from."""
    tale = drained().flink_runs("b", vertices=False).completes("b", 4).leaves_manifest("b", 4).becomes("b", "CANCELED")
    return tale.flink_runs("c", v1=True).commits("c", 1)


def started_without_state() -> Tale:
    """The V2 sink finds the mark under its own job id."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, DRAINED).starts_again("a").leaves_manifest("a", 1)
    return tale.becomes("a", "CANCELED").flink_runs("c").commits("c", 1)


def with_lost(tale: Tale, missing_files: int = 0, positions: tuple[int, int] | None = None, **found: object) -> Case:
    """Storage shows what nothing remembers any more."""
    standing = LeakStanding.LOST_STATE
    left = leaks(*tale.manifests, standing=standing, missing_files=missing_files, positions=positions)
    return tale.looked_at(leaked=left, **found)


def above_a_drain(restored: int | None, *commits: int) -> Tale:
    """The mark of run a names no id; run b was restored from this checkpoint, and has committed these."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, DRAINED).becomes("a", "FINISHED").flink_runs("b", restored)
    return tale.commits("b", *commits) if commits else tale


def that_waits(tale: Tale) -> Case:
    """Nobody could look whether a restore point lists what lies there."""
    return tale.looked_at(leaked=waiting(tale))


F5, F12 = job_was_drained, mode
OWED, APPEND = commits_as_new(changed(), 5, 6), Remedy.RECOVER_LEAKED_MANIFESTS
WHOLE = GapsFinding(lowest=0, highest=99, positions=100, missing=0, gaps=())
OF_2 = points(point(job_id("a"), 2, drained().at("a", 2)))
QUIET = Tale().flink_runs("a").commits("a", 1, 2)
NO_GRAPH = drained().flink_runs("b", restored=3, vertices=False).completes("b", 4)
V2 = drained().flink_runs("b", restored=3).completes("b", 4)
DROPPED = LeakStanding.DROPPED


@answer_table(
    {
        "what the old state owed is appended": (
            F12, with_lost(OWED), APPEND, LastGood("a3"), WrongRun(None), Rows("a3 b5"),
        ),
        "without its files only the source is left": (F12, with_lost(OWED, 1), Remedy.REPLAY_SOURCE_RANGE),
        "it is seen before the new sink commits": (F12, with_lost(changed()), Matches, "restored from checkpoint 4"),
        "the uid was changed on purpose, and nothing was owed": (
            F12, nothing_left().looked_at(), Excluded, "on purpose",
        ),
        "storage was not looked at": (F12, OWED.case(), CannotTell),
        "nothing on main, and Flink was not seen": (F12, QUIET.flink_is_down().looked_at(), CannotTell),
        "another sink of the job left it": (F12, with_lost(leaving("a", 4, operator=OperatorId("dd" * 16))), Excluded),
        "its last commit covers it (F3)": (F12, with_lost(leaving("a", 3)), Excluded),
        "main shows a change that owed nothing; Flink alone knows of another": (
            F12, several("d3").flink_is_down().looked_at(leaked=leaks()), CannotTell,
        ),
        "another job wrote in between": (F12, with_lost(restarted_beside_another()), Excluded),
        "it waits for a restore under another id": (
            F12, that_waits(changed()), CannotTell, f"whose sink is {NEW[:6]}", "of checkpoint 4 of run aaaaaa",
        ),
        "V2 has it committed within moments": (
            F12, that_waits(changed(v1=False)), CannotTell, "which has not shown its sink",
        ),
        "it waits for the sink that runs": (F12, that_waits(under_the_old_uid()), Excluded),
        "it lies above the restored checkpoint": (F12, that_waits(before_the_new_sink_commits("a", 6)), Excluded),
        "the run itself left it before a failover": (F12, gone_since("b"), Excluded),
        "a run of no job of this table left it": (F12, gone_since("z"), Excluded),
        "its rows came again, as after a replay": (F12, with_lost(OWED, positions=(20, 29), gaps=WHOLE), Excluded),
        "where the new sink began is open before its first rows": (
            F12, with_lost(changed(), positions=(20, 29), gaps=WHOLE), Excluded | CannotTell,
        ),
        "what is restored from a drained job never commits": (
            F5, restored().looked_at(pairing=OF_2), Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB, LastGood("head"),
            WrongRun("b"), "completed 4 and 5",
        ),
        **{
            f"any point, and none, looks alike above a drained commit: {point}, {commits}": (
                healthy, above_a_drain(point, *commits).looked_at(), CannotTell,
            )
            for point in (3, None) for commits in ((), ((point or 0) + 1,))
        },
        "drained, and no point lies before it": (
            F5, restored().looked_at(pairing=points()), Remedy.CHANGE_OPERATOR_UID,
        ),
        "what the stopped run read is in no snapshot all the same": (
            F5, restored().becomes("b", "CANCELED").looked_at(), Matches,
        ),
        "a bounded job that finished is right": (F5, drained().looked_at(), Excluded, "ended on purpose"),
        "the V2 sink commits under a new job id": (F5, V2.looked_at(), Excluded),
        "under its own it does not": (F5, drained().starts_again("a").looked_at(), Matches),
        "the sink is unknown": (F5, NO_GRAPH.looked_at(), CannotTell),
        "Flink is unknown": (F5, restored().flink_is_down().looked_at(), CannotTell),
        "a run without state was not restored": (
            F5, started_without_state().looked_at(leaked=leaks(*started_without_state().manifests, standing=DROPPED)),
            Matches, "has the same job id",
        ),
        "a run has followed, and nobody could look": (
            F5, replaced().flink_is_down().looked_at(leaked=None), CannotTell,
        ),
        "a run has followed, and Flink tells little of the one before": (
            F5, unseen_between().looked_at(leaked=None), CannotTell,
        ),
    }
)  # fmt: skip
def test_what_a_sink_owed(mode: Any, case: Case, expected: list[Any]) -> None:
    """Rows of a drained job's successor, or of a lost state, are named; nothing that is owed is guessed."""
    check(mode, case, expected)

"""What of a case is worth telling people who look at nothing: the diagnosis first, then what no failure mode names."""

from datetime import timedelta

from bot.diagnosis._support.arrivals import checkpoint_silence
from bot.diagnosis._support.case import empty_starts, living, rewinds_in
from bot.diagnosis._support.leaks import in_words
from bot.diagnosis._support.other_writers import changes_by_others
from bot.diagnosis._support.turns import turns, writing
from bot.diagnosis.checkpoints_failed import fails_in_a_row
from bot.history.base import begun_anew
from bot.history.case import Case
from bot.history.rolled_back import rollbacks_of
from bot.incident.diagnosis import Act, Diagnosis, LastGoodRows, Matches, Mode, Remedy
from bot.incident.doubt import rows_are_right
from bot.incident.runbook import RUNBOOKS_OF
from bot.incident.watch import WatchFinding
from bot.observation.findings import LeakStanding
from bot.observation.ids import Severity, short_job
from bot.observation.record import Record
from bot.service.watching.unnamed import is_looping, newest_run, silent_for, unnamed_signs

CONDITIONS = frozenset(
    {"blind", "no-advance", "no-commit", "stale", "expiring", "alert", "F8", "F11", "F20", "F24", "F25"}
)
"""Codes of what is over when Waterline does not see it any more. Anything else is damage, and does not go by itself."""
_OF_THE_JOB = frozenset({"F8"})
"""Codes that put only the job's restart in question, whatever it takes: the table holds what was committed."""
_STUCK = "F24"
"""Tells of an event time that is older than promised while commits come."""


class CaseFindings(Record):
    """What one case shows: what is told, and what holds beside it."""

    told: tuple[WatchFinding, ...]
    """The gravest first."""
    beside: frozenset[str]
    """Codes of what holds as well and is not told by itself, because one of `told` stands for it. It is not over."""


def findings_in(case: Case, diagnosis: Diagnosis, *, grace_period: timedelta) -> CaseFindings:
    """Every finding of this case. `grace_period`: how long a job may be down on purpose.

    What a failure mode explains is not told a second time as a mere silence. Flink's own words name files by values of
    hidden columns, so the veil is laid on all.
    """
    asking = _asking(diagnosis)
    named = tuple(_sign(case, each, asking) for each in _leading(asking))
    left = leaked(case)
    bare = (*unnamed_signs(case, grace_period), *((left,) if left else ()))
    if any(each.is_urgent for each in named):
        explained = bare
    else:
        explained = tuple(each for each in bare if each.code == "stale" and _STUCK in diagnosis.codes)
    told = (*named, *(each for each in bare if each not in explained))
    return CaseFindings(
        told=tuple(each.veiled(case.contract.veiled) for each in told),
        beside=frozenset(mode.code for mode, _match in asking if mode.code not in {finding.code for finding in named})
        | {each.code for each in explained},
    )


def suspicion(case: Case) -> str:
    """What would be worth a closer look, as one text: while it stays the same, nothing new has happened."""
    alive = (
        (
            r.job_id,
            r.restored.at if r.restored else None,
            fails_in_a_row(r, checkpoint_silence(case, r)),
            is_looping(case),
        )
        for r in living(case)
    )
    columns = tuple(column.field_id for column in case.observation.table.columns)
    seen = case.observation
    gone_back = tuple((lost.target, told.outcome.value) for lost, told in rollbacks_of(case))
    restarts = (*((r.run, r.reached) for r in rewinds_in(case)), *((s.run, s.reached) for s in empty_starts(case)))
    others = (*(s.snapshot_id for s in changes_by_others(case)), *(turn.at for turn in turns(case)))
    on_main = (seen.table.lost_metadata, begun_anew(case), restarts, others)
    return repr((on_main, gone_back, *alive, len(writing(case)) > 1, columns, silent_for(case)))


def _asking(diagnosis: Diagnosis) -> list[tuple[Mode, Matches]]:
    """The matches that ask for something, in the order in which to act; grace_period is nothing to be told of."""
    return [each for each in diagnosis.matches if each[1].remedy not in {Remedy.NOTHING, Remedy.WAIT}]


def _leading(asking: list[tuple[Mode, Matches]]) -> list[tuple[Mode, Matches]]:
    """The match to act on first; beside one that says nothing against the rows, also the first that does: by what is
    told the table's trust is judged."""
    first = asking[:1]
    if first and _leaves_rows_alone(first[0]):
        first += [each for each in asking if not _leaves_rows_alone(each)][:1]
    return first


def _leaves_rows_alone(told: tuple[Mode, Matches]) -> bool:
    mode, match = told
    return mode.code in _OF_THE_JOB or rows_are_right(match)


def _sign(case: Case, told: tuple[Mode, Matches], asking: list[tuple[Mode, Matches]]) -> WatchFinding:
    """One match, with the others beside it."""
    mode, match = told
    return WatchFinding(
        code=mode.code,
        subject=_subject(case, match),
        headline=match.headline,
        reasons=match.reasons,
        advice=match.what_to_do,
        severity=_severity(mode),
        runbook=next(iter(RUNBOOKS_OF.get(mode.code, ())), None),
        is_urgent=mode.act <= Act.REPAIR,
        rows_are_right=_leaves_rows_alone(told),
        rows=match.rows[:3],
        last_good=match.last_good if match.last_good_rows is not LastGoodRows.WRONG else None,
        last_good_rows=match.last_good_rows if match.last_good_rows is not LastGoodRows.WRONG else None,
        newest_wrong=match.newest_wrong,
        also=tuple(f"{other.code}: {found.headline}" for other, found in asking if other.code != mode.code),
    )


def _subject(case: Case, match: Matches) -> str:
    """What stays the same while the fault lasts: the wrong run, else the last good snapshot, else who writes now."""
    if match.wrong_run is not None:
        return match.wrong_run
    if match.last_good is not None and match.last_good != case.observation.table.head:
        return str(match.last_good)
    return newest_run(case)


def _severity(mode: Mode) -> Severity:
    if mode.act is Act.CONTAIN:
        return "sev1"
    return "sev2" if mode.act <= Act.REPAIR else "sev3"


LEAKED = "leaked"


def leaked(case: Case) -> WatchFinding | None:
    """The newest run's manifests whose rows the table does not have and nothing will commit, from the evidence of a
    closer look; None before one, and while no run is alive: a restore may still take them along.

    What waits for its commit is no leak (F11 tells when it waits for too long), nor is what a job read again after it
    went back: a checkpoint in progress leaves its manifest behind whenever a job fails, or is restored from below it.
    """
    if case.leaked is None or not living(case):
        return None
    lost = [each for each in case.leaked.of(LeakStanding.DROPPED, LeakStanding.LOST_STATE) if not each.is_empty]
    if not lost:
        return None
    run = lost[-1].job_id
    mine = sorted((each for each in lost if each.job_id == run), key=lambda each: each.checkpoint_id)
    what = "rows" if any(each.rows != 0 for each in mine) else "deletes"
    return WatchFinding(
        code=LEAKED,
        subject=run,
        headline=f"Run {short_job(run)} wrote {what} that no commit contains.",
        reasons=(in_words(mine), *dict.fromkeys(each.reason for each in mine)),
        advice="open an incident and check whether the job wrote these rows again; remove no orphan files until then",
        severity="sev2",
        runbook="missing-rows",
        is_urgent=False,
    )

"""F23: the table's schema was changed while the job ran, and the job goes on writing the one that it started with.

`FlinkSink` keeps the schema from its start; a column that was added since is null in every row that it writes.
"""

from bot.diagnosis._support.asked import lacking
from bot.diagnosis._support.case import living, unseen
from bot.history.case import Case
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.findings import SchemaDriftFinding
from bot.observation.ids import SnapshotId, short, short_job
from bot.observation.looked import NotSeen, Seen

MODE = Mode(
    code="F23",
    name="schema_changed_under_the_job",
    title="the schema was changed while the job ran",
    needs=("ledger", "schema_drift"),
    false_positives=(
        "A new column that the source does not fill yet.",
        "A change that was announced, with the restart still to come.",
        "A run that was restarted under its old job id and has not committed since.",
    ),
    neighbours={
        "healthy": "There every column of the table is filled. Here one that came with the change is empty in "
        "every file that the job writes.",
    },
    act=Act.RECOVER,
    remedies=(Remedy.RESTART_FROM_STOP_SAVEPOINT,),
)
_WHO = {
    "table": "the table's columns",
    "contract": "the contract's columns",
    "files": "the files of the window",
    "earlier-table": "the table's columns before the window",
    "state": "the columns that the job's state goes on with",
}


def examine(case: Case) -> Examined:
    """Matches on columns that the table has and the job leaves null, and on those that it writes and the table has no
    more."""
    if missing := lacking(case, *MODE.needs):
        return CannotTell(missing=missing)
    found = case.schema_drift
    assert found is not None
    columns, in_vain = unwritten(case, found), written_in_vain(case, found)
    if in_vain and not columns:
        return _matches_in_vain(case, found, in_vain)
    if not columns and found.untold:
        return CannotTell(missing=(f"null counts of column {', '.join(found.untold)}: no file of the window has them",))
    if not columns and (unknown := writes_unknown(case)) is not None:
        return CannotTell(missing=(unseen(unknown),))
    if not columns and not found.all_null:
        return Excluded(reason=_why_not(case, found))
    if not columns:
        return CannotTell(
            missing=(
                f"when column {', '.join(found.all_null)} came to the table: no file of the window fills it, and the "
                "schema did not change within the window. Widen the window",
            )
        )
    if isinstance(case.observation.jobs, NotSeen):
        return CannotTell(missing=(unseen(case.observation.jobs),))
    return _matches(case, found, columns)


def writes_unknown(case: Case) -> NotSeen | None:
    """Why nobody knows under which columns a living run writes, where no commit of its shows that it took up the
    present ones; None: it is known, or does not matter."""
    written, table = case.observation.written, case.observation.table
    newest = next((s for s in table.chain if s.job_id is not None), None)
    if isinstance(written, Seen) or newest is None or newest.schema_id is None:
        return None
    is_older = table.schemas.get(newest.schema_id, table.columns) != table.columns
    return written if is_older and newest.job_id in {run.job_id for run in living(case)} else None


def _why_not(case: Case, found: SchemaDriftFinding) -> str:
    changed = f" since it changed at {short(found.added_at)}" if found.added_at else ""
    specs = sorted({spec for row in (case.ledger.rows if case.ledger else ()) for spec in row.spec_ids})
    evolved = f", under partition specs {' and '.join(map(str, specs))}, which all stay readable" if specs[1:] else ""
    return f"Files of the window fill every column of the table's schema{changed}{evolved}."


def unwritten(case: Case, found: SchemaDriftFinding) -> tuple[str, ...]:
    """Columns that nobody fills and that are newer than what is written: the schema changed within the window, or
    table and files disagree about them, or the run goes on under a schema without them."""
    apart = {d.column for d in found.differences if set(d.between) == {"table", "files"}}
    empty = (c for c in found.all_null if found.added_at is not None or c in apart)
    unknown = found.not_in_state if _goes_on(case, found) else ()
    return tuple(dict.fromkeys((*empty, *unknown)))


def written_in_vain(case: Case, found: SchemaDriftFinding) -> tuple[str, ...]:
    """Columns that the run goes on writing and the table no longer has."""
    return found.not_in_table if _goes_on(case, found) else ()


def _goes_on(case: Case, found: SchemaDriftFinding) -> bool:
    """Whether the run whose state was compared still lives: a restored one takes up the present schema."""
    return found.state_run is not None and found.state_run in {run.job_id for run in living(case)}


def _matches_in_vain(case: Case, found: SchemaDriftFinding, columns: tuple[str, ...]) -> Matches:
    names = ", ".join(columns)
    return Matches(
        headline=f"The job goes on writing {names}, which the table no longer has since its schema was changed.",
        reasons=(f"The run's own files have {names}; no reader of the table sees it.", *_apart(found), *_since(case)),
        rows=_under_it(case, found),
        last_good=_before(case, found),
        remedy=Remedy.RESTART_FROM_STOP_SAVEPOINT,
    )


def _matches(case: Case, found: SchemaDriftFinding, columns: tuple[str, ...]) -> Matches:
    names = ", ".join(columns)
    empty, unknown = (", ".join(c for c in columns if c in told) for told in (found.all_null, found.not_in_state))
    reasons = [f"Every file that the job wrote in the window leaves {empty} null or does not have it."] if empty else []
    if unknown:
        reasons.append(f"The run writes under a schema without {unknown}, as its own files say.")
    if found.added_at is not None:
        reasons.append(f"{short(found.added_at)} is the first commit of the window under the present schema.")
    reasons += [*_apart(found), *_since(case)]
    return Matches(
        headline=f"The table has {names} since its schema was changed, and the job does not write "
        f"{'it' if len(columns) == 1 else 'them'}.",
        reasons=tuple(reasons),
        rows=_under_it(case, found),
        last_good=_before(case, found),
        remedy=Remedy.RESTART_FROM_STOP_SAVEPOINT,
    )


def _apart(found: SchemaDriftFinding) -> list[str]:
    return [
        f"For column {d.column}, {_WHO[d.between[0]]} say {d.expected}, and {_WHO[d.between[1]]} say {d.found}."
        for d in found.differences[:3]
    ]


def _since(case: Case) -> list[str]:
    run = next(iter(reversed(living(case))), None)
    if run is None:
        return []
    return [
        f"Run {short_job(run.job_id)} has run since {run.started_at:%Y-%m-%d %H:%M:%S} UTC and takes up a new schema "
        "only at its next start."
    ]


def _under_it(case: Case, found: SchemaDriftFinding) -> tuple[SnapshotId, ...]:
    """The job's rows since the change; all of the window where it came before."""
    rows = [row.snapshot_id for row in (case.ledger.main if case.ledger else ()) if row.job_id]
    return tuple(rows[rows.index(found.added_at) :] if found.added_at in rows else rows)


def _before(case: Case, found: SchemaDriftFinding) -> SnapshotId | None:
    first = case.observation.table.by_id.get(found.added_at) if found.added_at is not None else None
    return first.parent_id if first is not None else case.window.since

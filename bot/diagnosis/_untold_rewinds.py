"""Whether a run went back, where that depends on a run that Flink does not list: it may be the job's or another's."""

from bot.diagnosis._asked import answers, checked_until
from bot.diagnosis._case import untold_rewinds_in
from bot.diagnosis._upsert import why_upsert
from bot.domain.diagnosis import Case
from bot.domain.ids import short_job
from bot.domain.rewinds import Rewind


def open_rewinds(case: Case) -> tuple[Rewind, ...]:
    """Those that nothing has settled: what a run read again lives twice from its first commit on, but in a table that
    is written by key, so a look that holds and found no key twice shows that it read nothing again."""
    return tuple(r for r in untold_rewinds_in(case) if not _repeats_nothing(case, r))


def whose_run(rewind: Rewind) -> str:
    """What is missing to know whether it is one."""
    run, other = short_job(rewind.run), short_job(rewind.only_if_of_job)
    whence = f", restored from {rewind.restored}," if rewind.restored is not None else ""
    settles = (
        "its next commit and `duplicate_rows` settle it" if rewind.first is None else "`duplicate_rows` settles it"
    )
    return (
        f"whether run {other}, which Flink does not list, is this job's or another's: it depends on that whether run "
        f"{run}{whence} went back below checkpoint {rewind.reached} of run {short_job(rewind.earlier)}; {settles}"
    )


def _repeats_nothing(case: Case, rewind: Rewind) -> bool:
    found, place_of = case.duplicates, case.observation.table.place_of
    if rewind.first is None or found is None or found.keys or why_upsert(case) is not None:
        return False
    return answers(case, "duplicate_rows") and place_of(checked_until(case, "duplicate_rows")) >= place_of(rewind.first)

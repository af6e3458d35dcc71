"""Append, once, the files that Flink wrote for completed checkpoints and never committed (facts 0.8).

Their manifests are still on storage, and no sink will commit them any more. The files are appended as they are, in one
commit: their order does not matter, because nothing in them is an update.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from bot.actions._support.staging import must_not_rise, named, rehearsal, said_of_rows, sized, where
from bot.history.case import Case
from bot.history.unread_points import all_are_live, some_are_live
from bot.incident.action import Action, Plan
from bot.incident.proposal import Proposal
from bot.observation.errors import Refused
from bot.observation.file_changes import FileSources
from bot.observation.findings import LeakedManifest, LeakedManifestsFinding, LeakStanding
from bot.observation.ids import short_job

ACTION = Action(
    name="recover_leaked_manifests",
    title="Recover leaked manifests",
    promise="The table has the files that Flink wrote and never committed, each once.",
    needs=("leaked_manifests", "missing_positions"),
    proofs=(
        ("leaked_manifests", "No file that Flink wrote is left out"),
        ("duplicate_files", "No duplicate files"),
        ("duplicate_rows", "No duplicate rows"),
        ("missing_positions", "No missing rows"),
    ),
    no_more_than_before=("duplicate_files", "duplicate_rows", "missing_positions"),
    repairs=("missing_positions",),
    moves_waterline="trusted",
)
_EVER = datetime(1970, 1, 1, tzinfo=UTC)


def propose(plan: Plan) -> Proposal:
    """A rehearsal with the lost manifests' files. Raises Refused with the reason, CouldNotLook."""
    lost = _nowhere(plan.case, _lost(plan.case.leaked))
    survey = plan.survey(FileSources(manifests=tuple(leak.path for leak in lost)), None)
    if survey.unfit:
        raise Refused(
            "The lost rows cannot be appended as they are: their files do not fit the table.",
            f"Expected manifests with a schema and a partition spec that the table has or had; {len(survey.unfit)} "
            f"of {len(lost)} have others. The first is {survey.unfit[0]}.",
            "Replay their source range instead, which writes these rows with the table's present schema.",
        )
    must_not_rise(survey, "The files of leaked manifests")
    if survey.live_already:
        raise Refused(
            "The table already has some of the files that seemed lost.",
            f"Expected none of them to be live; these are: {named(survey.live_already)}.",
            "Collect the evidence “leaked_manifests” again, so that nothing is appended twice.",
        )
    if survey.beside:
        ref, files = next(iter(survey.beside.items()))
        raise Refused(
            "Another branch or tag has some of the files that seemed lost.",
            f"Expected no branch or tag to reference them; {ref} references {named(files)}.",
            "Leave them there: publishing that branch would add them to main a second time. Collect the evidence "
            "“leaked_manifests” again.",
        )
    if survey.gone or survey.add is None:
        raise Refused(
            "The lost rows cannot be appended: some of their files are missing or cut.",
            f"Expected every file of {len(lost)} manifests; missing or cut: {named(survey.gone)}.",
            "Restore the files from the storage's own versions, or replay the source range.",
        )
    return rehearsal(
        plan,
        ACTION,
        survey,
        title=f"{ACTION.title}: {_checkpoints(lost)}",
        why="Append the files that were never committed",
        sentences=(
            f"Append {sized(survey.add)}{where(survey)}: what Flink wrote for {_checkpoints(lost)}. The entries "
            "come unchanged from its own manifests. They count as newest, and nothing in the table deletes by key.",
            "Flink's manifests stay on storage; their files are then part of the table.",
        ),
        proof="no lost manifest is left, no duplicate files, no duplicate rows, no missing rows",
        carries=said_of_rows(((leak.job_id, leak.checkpoint_id) for leak in lost), _written(plan.case, lost)),
    )


def _nowhere(case: Case, lost: tuple[LeakedManifest, ...]) -> tuple[LeakedManifest, ...]:
    """All of them. Raises Refused where rows of one are in the table, as far as source positions tell."""
    there = [leak for leak in lost if some_are_live(leak, case.gaps, case.contract)]
    if there:
        position = case.contract.position
        low, high = (case.contract.shown(position, edge) for edge in (there[0].position_from, there[0].position_until))
        raise Refused(
            "The table already has some of the rows that seemed lost.",
            f"Expected no live row between the source positions of a manifest; found rows among {low} to {high}, "
            f"those of {_checkpoints(there[:1])}. The job has read them again.",
            _instead(case, lost, there),
        )
    return lost


def _instead(case: Case, lost: tuple[LeakedManifest, ...], there: Sequence[LeakedManifest]) -> str:
    whole = [leak for leak in there if all_are_live(leak, case.gaps, case.contract)]
    if len(whole) == len(lost):
        return "The table has all of these rows, so nothing needs to be recovered. Diagnose again."
    if there[0] in whole:
        return (
            f"The table has all of its rows: move {there[0].path} aside, collect “leaked_manifests” again, and "
            "propose this again for the others."
        )
    return "Replay the positions that missing_positions reports instead: appending these files would duplicate rows."


def _written(case: Case, lost: Sequence[LeakedManifest]) -> tuple[datetime, ...]:
    """When Flink had written them; at any time until now, where storage does not tell."""
    told = {each.path: each.written_at for each in case.observation.flink_manifests.values}
    known = [told.get(leak.path) for leak in lost]
    untold = (_EVER, case.observation.table.read_at) if None in known else ()
    return (*(each for each in known if each is not None), *untold)


def _lost(found: LeakedManifestsFinding | None) -> tuple[LeakedManifest, ...]:
    leaks = found.of(LeakStanding.DROPPED, LeakStanding.LOST_STATE) if found else ()
    lost = tuple(leak for leak in leaks if not leak.is_empty)
    if not lost:
        waiting = found.of(LeakStanding.PENDING) if found else ()
        if found and (untold := found.of(LeakStanding.UNTOLD)) and not waiting:
            raise Refused(
                "There is no leaked manifest to recover.",
                f"Expected manifests whose rows are known to be lost. Those of {_checkpoints(untold)} may have been "
                "read again or belong to another branch, so the table may already have their rows.",
                "Run missing_positions, and replay from the source what is missing. Never append on a guess.",
            )
        job = f"the job may still commit {len(waiting)} by itself" if waiting else "no manifest is left over"
        raise Refused(
            "There is no leaked manifest to recover.",
            f"Expected manifests that nothing will commit any more; {job}.",
            "Wait for the job's next checkpoint: appending files that the job commits itself would duplicate rows."
            if waiting
            else "If rows are missing anyway, replay their source range.",
        )
    hollow = [leak for leak in lost if leak.files is None or leak.missing_files]
    if hollow:
        raise Refused(
            "The lost rows cannot be appended as they are.",
            f"Expected every manifest and all its files to be readable; {len(hollow)} of {len(lost)} are not. The "
            f"first is {hollow[0].path}.",
            "Replay their source range instead.",
        )
    return lost


def _checkpoints(lost: Sequence[LeakedManifest]) -> str:
    """`checkpoint 7 of run a3f1c2`, `checkpoints 5 to 7 of run a3f1c2`, `5 checkpoints of 2 runs`."""
    ids = sorted({leak.checkpoint_id for leak in lost})
    runs = sorted({leak.job_id for leak in lost})
    if len(runs) > 1:
        return f"{len(ids)} checkpoints of {len(runs)} runs"
    told = f"checkpoint {ids[0]}" if len(ids) == 1 else f"checkpoints {ids[0]} to {ids[-1]}"
    return f"{told} of run {short_job(runs[0])}"

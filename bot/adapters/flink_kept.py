"""Flink's answers that were kept in a saved case, parsed again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import ValidationError

from bot.adapters.case_comparing import differences
from bot.adapters.flink_pages import RunPages
from bot.domain.errors import CouldNotLook, WaterlineError
from bot.domain.flink import JobRun
from bot.domain.ids import JobId, short_job

_OF_PAGE = {
    "/exceptions": ("failures", "vertices"),
    "/config": ("code_version",),
    "/checkpoints/config": ("settings", "checkpoint_interval_ms"),
    "/checkpoints": ("checkpoints", "completed_count", "failed_count", "restored_count", "restored"),
}
"""A page of a run -> what only it tells."""


@dataclass
class KeptAnswers:
    """The pages of one cluster, as they were answered."""

    url: str
    pages: Mapping[str, bytes]
    """Path, without what was asked behind it -> body."""
    what: str = "The saved case"

    def get(self, path: str) -> bytes | None:
        """None where it was not kept, or where Flink itself had none."""
        return self.pages.get(path)

    def garbled(self, asked: str, error: ValidationError) -> WaterlineError:
        """This version does not understand a kept body."""
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the body"
        return CouldNotLook(f"{asked} cannot be read.", f"Found at {where}: {first['msg']}.", "Save the case again.")


def runs_again(
    recorded: Sequence[JobRun], job: str, raw: Mapping[str, bytes]
) -> tuple[dict[JobId, JobRun], tuple[str, ...]]:
    """(Each run of which the pages were kept, as it is read now; where that differs from what was recorded.)

    What a page tells that was not kept is taken from the record.
    """
    found: dict[JobId, JobRun] = {}
    told: list[str] = []
    for answers in _clusters(raw):
        try:
            listed = RunPages(answers).ids_of(job)
        except CouldNotLook as error:
            told.append(f"the list of jobs at {answers.url}: {error.found}")
            continue
        known = {run.job_id for run in recorded}
        told += [f"run {short_job(run)} is listed as {job} and was not recorded" for run in listed if run not in known]
        for run in recorded:
            if f"/jobs/{run.job_id}" in answers.pages:
                again, sentences = _run_again(run, answers)
                told += sentences
                if again is not None:
                    found[run.job_id] = again
    return found, tuple(told)


def _run_again(recorded: JobRun, answers: KeptAnswers) -> tuple[JobRun | None, tuple[str, ...]]:
    what = f"run {short_job(recorded.job_id)}"
    try:
        now = RunPages(answers, is_history=recorded.from_history).run(recorded.job_id)
    except CouldNotLook as error:
        return None, (f"{what}: {error.happened} {error.found}",)
    except (ValueError, OverflowError, OSError) as error:
        return None, (f"{what}: its times cannot be read now: {error}",)
    if now is None:
        return None, ()
    page = f"/jobs/{recorded.job_id}"
    gone = [name for each, names in _OF_PAGE.items() if page + each not in answers.pages for name in names]
    now = now.model_copy(update={name: getattr(recorded, name) for name in gone})
    return now, differences(what, recorded, now)


def _clusters(raw: Mapping[str, bytes]) -> list[KeptAnswers]:
    """One for each address that listed jobs."""
    bases = [address.removesuffix("/jobs/overview") for address in raw if address.endswith("/jobs/overview")]
    return [
        KeptAnswers(
            base,
            {
                urlsplit(address).path.removeprefix(urlsplit(base).path.rstrip("/")): body
                for address, body in raw.items()
                if address.startswith(f"{base}/")
            },
        )
        for base in bases
    ]

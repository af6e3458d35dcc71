"""Whether the table is written by key, so that a newer row of a key is meant to replace the older one."""

from bot.diagnosis._case import in_window
from bot.domain.diagnosis import Case

_PROPERTY = "write.upsert.enabled"


def why_upsert(case: Case) -> str | None:
    """One sentence that shows it, from the table's properties or from Flink's own deletes; None: only appends."""
    if case.observation.table.properties.get(_PROPERTY, "").lower() == "true":
        return f"The table is written by key ({_PROPERTY} is true)."
    deletes = sum(s.counted("added-equality-deletes") for s in in_window(case) if s.job_id)
    if deletes:
        return f"The job writes by key: its commits in the window carry {deletes} equality deletes."
    files = sum(s.counted("added-delete-files") for s in in_window(case) if s.job_id)
    if files:
        return f"The job writes by key: its commits in the window carry {files} delete files."
    return None

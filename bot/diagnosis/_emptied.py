"""Whether storage itself answers where not one data file of the table is there: then they were deleted.

Rights, a wrong scheme and an outage look the same, so it takes a witness: a listing of the table's data folder, made
after the files were looked for, that went through and has none of the files that the table names.
"""

from bot.diagnosis._asked import looked_later
from bot.domain.diagnosis import Case
from bot.domain.findings import MissingFilesFinding, UnreadableFilesFinding
from bot.domain.paths import below
from bot.domain.sentences import counted

WITNESS = "orphan_files"
"""The task that lists the data folder, beside the metadata folder."""
_ELSEWHERE = ("write.data.path", "write.folder-storage.path", "write.object-storage.path")
"""Table properties that put data files outside of the table's own folder."""


def emptied(case: Case, looked: UnreadableFilesFinding | MissingFilesFinding) -> str | None:
    """A sentence that shows that storage answers and the files are gone; None: nothing shows it."""
    table, listed = case.observation.table, case.orphans
    than = "missing_files" if isinstance(looked, MissingFilesFinding) else "unreadable_files"
    if listed is None or listed.orphans < listed.files_listed or not looked_later(case, WITNESS, than):
        return None
    content = [file.path for file in looked.files if file.what in ("data", "deletes")]
    if any(table.properties.get(name) for name in _ELSEWHERE):
        return None
    if not content or any(below(path, table.location) is None for path in content):
        return None
    others = counted(listed.files_listed, "other file") if listed.files_listed else "no file at all"
    return (
        "Storage answers, so they are gone: the manifests that name them could be read, and a later listing of the "
        f"data folder shows {others} of that time."
    )

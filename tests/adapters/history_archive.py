"""What a real Flink 2.1.1 archived of a run: its TaskManager was killed once, then it was stopped with a savepoint.

The file is as `jobmanager.archive.fs.dir` gets it, without the pages that nobody here reads, its folders renamed.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bot.observation.ids import JobId

ENDED = JobId("c1090702533ba71f3c7d52dfd8cb5d03")
ARCHIVE = Path(__file__).parent / "fixtures" / "flink_history_2_1"
"""The folder that a history server is pointed at."""


def archived_pages() -> Iterator[tuple[str, Any]]:
    """Path and body of each page, as the history server serves them."""
    for page in json.loads((ARCHIVE / ENDED).read_text(encoding="utf-8"))["archive"]:
        yield page["path"], json.loads(page["json"])

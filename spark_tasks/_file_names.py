"""What the names of data files tell (facts 1.6)."""

_SUBTASK, _ATTEMPT = r"\d{5}", r"\d+"
_REST = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-\d{5}(?:-\w+)?\.(?:parquet|avro|orc|puffin)$"
"""A random id of the writer, and a running number. Spark's names have one number more between them and do not match."""

ATTEMPT_IN_FILE_NAME = rf"^{_SUBTASK}-({_ATTEMPT})-{_REST}"
"""Flink's data and delete files; group 1 is the attempt."""
SUBTASK_IN_FILE_NAME = rf"^({_SUBTASK})-{_ATTEMPT}-{_REST}"
"""The same names; group 1 is the writer's subtask."""
WRITER_IN_PATH = rf"(?:^|/)({_SUBTASK}-{_ATTEMPT})-{_REST}"
"""The same names at the end of a path; group 1 is `subtask-attempt`."""

"""What the names of data files tell (facts 1.6)."""

ATTEMPT_IN_FILE_NAME = (
    r"^\d{5}-(\d+)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-\d{5}(?:-\w+)?\.(?:parquet|avro|orc)$"
)
"""Flink's data and delete files: subtask, attempt, a random id of the writer, a running number.

Group 1 is the attempt. Spark's names have one number more between id and running number and do not match.
"""

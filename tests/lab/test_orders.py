"""The statements of another version of the job: one thing is changed, and all else is as it was."""

from datetime import UTC, datetime
from pathlib import Path

from bot.lab.home import Home
from bot.lab.orders import few_keys, numbers, reading_otherwise, start_statements, topic, with_column

STORAGE = Home(Path("/lab")).small_storage("lake")
NUMBERS = numbers(datetime(2026, 11, 22, tzinfo=UTC))
STATEMENTS = start_statements(STORAGE, NUMBERS)


def test_one_column_is_computed_otherwise() -> None:
    """The others keep their lines."""
    insert = STATEMENTS[-1]

    changed = with_column(insert, "order_id", few_keys)

    before, after = insert.split("\n"), changed.split("\n")
    assert [line for line in after if line not in before] == [
        "  CONCAT('o-', LPAD(CAST(MOD(source_position, 40) AS STRING), 8, '0')) AS order_id,"
    ]
    assert len(before) == len(after)


def test_a_longer_expression_is_changed_as_a_whole() -> None:
    """It may hold an AS of its own."""
    changed = with_column(STATEMENTS[-1], "event_time", lambda told: f"({told})")

    assert changed.count("AS event_time,") == 1
    assert changed.endswith("source_position\nFROM order_events")


def test_a_source_begins_where_it_is_told() -> None:
    """And ends where it ended."""
    changed = reading_otherwise(STATEMENTS, {"fields.source_position.start": "111"})

    assert "'fields.source_position.start' = '111'" in changed[1]
    assert "'fields.source_position.end' = '50000'" in changed[1]
    assert changed[1].count("'fields.source_position.start'") == 1
    assert [changed[0], *changed[2:]] == [STATEMENTS[0], *STATEMENTS[2:]]


def test_a_topic_is_read_with_where_each_record_lies() -> None:
    """Partition and offset of a row are those of its record; an option that is changed is there once."""
    statements = start_statements(STORAGE, topic("127.0.0.1:1", "orders"))

    changed = reading_otherwise(statements, {"scan.startup.mode": "latest-offset", "scan.parallelism": "1"})

    assert "source_partition INT NOT NULL METADATA FROM 'partition' VIRTUAL" in changed[1]
    assert changed[1].count("'scan.startup.mode'") == 1
    assert changed[1].endswith("'scan.startup.mode' = 'latest-offset',\n  'scan.parallelism' = '1'\n)")


def test_the_dynamic_sink_has_the_same_rows_by_another_way() -> None:
    """The rows go to a table that stands for any; the class that tells which is named with it."""
    dynamic = start_statements(STORAGE, NUMBERS, generator="a.Generator")

    assert (dynamic[0], len(dynamic)) == (STATEMENTS[0], len(STATEMENTS) + 1)
    assert "'dynamic-record-generator-impl' = 'a.Generator'" in dynamic[1]
    assert dynamic[-1] == STATEMENTS[-1].replace("`lake`.`sales`.`orders`", "orders_anywhere")

"""A job that compacts the table, and how its scheduler is asked over HTTP to pause it."""

from typing import Literal

from pydantic import Field

from bot.domain.record import Record


class Compaction(Record):
    """No property of a table stops a compaction, so whoever runs it is asked. Both requests may come more than once."""

    name: str = Field(
        min_length=1, description="Its name, in words for approvers.", examples=["the nightly compaction"]
    )
    url: str = Field(
        pattern=r"^https?://[^@]+$",
        description="URL of its scheduler, without a password.",
        examples=["https://airflow.example.com/api/v2/dags/compact_orders"],
    )
    method: Literal["POST", "PUT", "PATCH"] = Field(
        default="POST", description="HTTP method of both requests.", examples=["PATCH"]
    )
    pause: dict[str, str | bool | int] = Field(description="JSON body that pauses it.", examples=[{"is_paused": True}])
    resume: dict[str, str | bool | int] = Field(
        description="JSON body that resumes it at the end, whoever paused it before.",
        examples=[{"is_paused": False}],
    )
    token_variable: str | None = Field(
        default=None,
        pattern=r"^[A-Z][A-Z0-9_]*$",
        description="Environment variable that holds the bearer token.",
        examples=["AIRFLOW_TOKEN"],
    )

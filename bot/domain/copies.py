"""Which of several copies of a row is the right one, where its owners have said so."""

from typing import Literal

from pydantic import Field

from bot.domain.record import Record


class CopyRule(Record):
    """Without a word of the owners all copies must be equal, and the oldest stays."""

    keep: Literal["oldest", "newest"] = Field(
        default="oldest", description="Which copy of a key stays when duplicates are removed.", examples=["newest"]
    )
    ignore: tuple[str, ...] = Field(
        default=(),
        description="Columns that each write sets, such as the ingestion time. Copies that differ only in these "
        "are the same row.",
        examples=[["ingested_at"]],
    )

    @property
    def but(self) -> str:
        """` but a and b`; empty where copies are equal in every column."""
        return f" but {' and '.join(self.ignore)}" if self.ignore else ""

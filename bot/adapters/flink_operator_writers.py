"""Who has written what of a resource, as Kubernetes remembers it in `managedFields`; pure."""

from collections.abc import Collection, Mapping
from datetime import datetime

from pydantic import BaseModel, Field

US = "waterline"
"""Under this name Kubernetes remembers which fields are ours."""


class Writer(BaseModel):
    """One who has written, with the fields that nobody has changed since."""

    manager: str = "somebody"
    time: datetime | None = None
    subresource: str | None = None
    fields: dict[str, object] | None = Field(default=None, alias="fieldsV1")

    def holds(self, path: Collection[str]) -> bool:
        """Whether the field at that path is as this one wrote it."""
        at: object = self.fields
        for name in path:
            at = at.get(f"f:{name}") if isinstance(at, Mapping) else None
        return at is not None


def newest_of(writers: Collection[Writer]) -> str:
    """Who changed it last, and when; the operator's status does not count."""
    people = {each.time: each.manager for each in writers if each.subresource is None and each.time}
    newest = max(people, default=None)
    return "somebody" if newest is None else f"{people[newest]} at {newest:%H:%M:%S} UTC"


def holders_of(writers: Collection[Writer], *path: str) -> frozenset[str]:
    """Who wrote the field as it is: several, where they wrote the same. Empty where Kubernetes does not tell."""
    return frozenset(each.manager for each in writers if each.holds(path))

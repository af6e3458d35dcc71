"""Notices as Markdown files in a folder: for whoever watches one, or keeps it in version control."""

import os
import re
from pathlib import Path

from bot.domain.errors import NotDelivered
from bot.notices.forms import TAKES_NO_ANSWER, as_markdown
from bot.ports.carriers import Parcel, Receipt

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class NoticeFiles:
    """One file a notice, by a name that follows from it: written again it is the same file."""

    def carry(self, parcel: Parcel) -> Receipt:
        """See the port. The file appears whole, or not at all."""
        notice = parcel.notice
        folder = Path(parcel.address.to)
        name = _UNSAFE.sub("-", f"{parcel.incident}-{notice.kind}-{notice.consumer}-{notice.revision}").lstrip(".-")
        path, unfinished = folder / f"{name}.md", folder / f".{name}.{parcel.key[:8]}.new"
        head = (
            f"---\nincident: {parcel.incident}\ntable: {parcel.table}\nkind: {notice.kind}\n"
            f"consumer: {notice.consumer!r}\nrevision: {notice.revision}\nat: {parcel.at:%Y-%m-%dT%H:%M:%SZ}\n---\n\n"
        )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with unfinished.open("w", encoding="utf-8") as file:
                file.write(f"{head}{as_markdown(notice.text)}\n{TAKES_NO_ANSWER}\n")
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        except OSError as error:
            raise NotDelivered(
                f"The file {path} could not be written: {type(error).__name__}: {error.strerror}."
            ) from error
        return Receipt(detail=f"Written to {path}.")

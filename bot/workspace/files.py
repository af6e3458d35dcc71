"""Files that the app uploads: an upload URL, the bytes, and the completion that shows them."""

import secrets

from pydantic import BaseModel, ConfigDict

from bot.workspace.clock import WorkspaceClock
from bot.workspace.payload import Payload
from bot.workspace.refusal import SlackRefusal

_PNG = b"\x89PNG\r\n\x1a\n"


class StoredFile(BaseModel):
    """One file, with its bytes once they have arrived."""

    model_config = ConfigDict(frozen=True)

    id: str
    name: str
    length: int
    created_s: int
    content: bytes | None = None
    title: str = ""
    alt: str = ""
    """What a screen reader says of an image."""

    def on_the_wire(self, url: str) -> Payload:
        """The file as messages and answers show it; `url` is where the page finds its bytes."""
        return {
            "id": self.id,
            "name": self.name,
            "title": self.title or self.name,
            "size": self.length,
            "created": self.created_s,
            "filetype": self.name.rpartition(".")[2] or "text",
            "mimetype": self.mimetype,
            "url_private": url,
        } | self._as_image()

    def _as_image(self) -> Payload:
        """What Slack adds of an image: its size, which a PNG states at a fixed place, and what is said of it."""
        if self.content is None or self.mimetype != "image/png":
            return {}
        wide, high = (int.from_bytes(self.content[at : at + 4], "big") for at in (16, 20))
        return {"original_w": wide, "original_h": high, "alt_txt": self.alt}

    @property
    def mimetype(self) -> str:
        """Told by the bytes, not by the name: only a PNG is shown as an image."""
        return "image/png" if (self.content or b"").startswith(_PNG) else "application/octet-stream"


class Files:
    """Files by id, and the tokens of upload URLs."""

    def __init__(self, clock: WorkspaceClock) -> None:
        self._clock = clock
        self._files: dict[str, StoredFile] = {}
        self._uploads: dict[str, str] = {}

    def expect(self, name: str, length: int, alt: str = "") -> tuple[str, StoredFile]:
        """The token of an upload URL, and the file that is to come."""
        token = secrets.token_urlsafe(12)
        created_s = int(self._clock.seconds())
        file_id = "F0" + secrets.token_hex(4).upper()
        file = StoredFile(id=file_id, name=name, length=length, created_s=created_s, alt=alt)
        self._files[file.id] = file
        self._uploads[token] = file.id
        return token, file

    def receive(self, token: str, content: bytes) -> StoredFile | None:
        """Keep the bytes; none when the URL is unknown, used, or the length is another than was said."""
        file_id = self._uploads.get(token)
        if file_id is None or len(content) != self._files[file_id].length:
            return None
        del self._uploads[token]
        self._files[file_id] = self._files[file_id].model_copy(update={"content": content})
        return self._files[file_id]

    def complete(self, file_id: str, title: str) -> StoredFile:
        """The file, ready to be shown; refuses one whose bytes never came."""
        file = self._files.get(file_id)
        if file is None or file.content is None:
            raise SlackRefusal("file_not_found")
        self._files[file_id] = file.model_copy(update={"title": title})
        return self._files[file_id]

    def find(self, file_id: str) -> StoredFile | None:
        """The file with that id."""
        return self._files.get(file_id)

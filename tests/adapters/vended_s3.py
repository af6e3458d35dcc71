"""An S3 (moto's server on loopback) of which only the catalog knows: the environment says nothing of it."""

from collections.abc import Iterator

import pytest
from moto.server import ThreadedMotoServer
from pyarrow.fs import S3FileSystem

BUCKET = "vended"
_SCHEME = "s3://"


class VendedS3:
    """A running server with one empty bucket."""

    def __init__(self, address: str) -> None:
        self.properties = {
            "s3.endpoint": address,
            "s3.access-key-id": "vended",
            "s3.secret-access-key": "vended",
            "s3.region": "us-east-1",
        }
        """What the catalog answers when the table is loaded."""
        self._files = S3FileSystem(
            access_key="vended", secret_key="vended", endpoint_override=address, region="us-east-1",
            allow_bucket_creation=True,
        )  # fmt: skip
        self._files.create_dir(BUCKET)
        self._files.delete_dir_contents(BUCKET)  # moto keeps what earlier servers of this process were given

    def puts(self, path: str, content: bytes) -> None:
        """One object."""
        with self._files.open_output_stream(path.removeprefix(_SCHEME)) as out:
            out.write(content)

    def content(self, path: str) -> bytes:
        """Of one object."""
        with self._files.open_input_stream(path.removeprefix(_SCHEME)) as stream:
            return bytes(stream.read())


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[VendedS3]:
    """A server of the test's own."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield VendedS3(f"http://{host}:{port}")
    server.stop()

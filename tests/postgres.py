"""A PostgreSQL server of the tests' own: Debian's, in a folder that goes with the session, on a socket of its own."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import psycopg
import pytest

_DEBIAN = Path("/usr/lib/postgresql")
_NOT_HERE = "PostgreSQL is not installed, so its half of this test is not run. Install it: apt-get install postgresql"
_SETTINGS = {
    "fsync": "off",  # a test's server does not have to survive a power cut
    "listen_addresses": "",
    "max_connections": "60",
    "shared_buffers": "16MB",
    "autovacuum": "off",
}


class Postgres:
    """One server, and as many empty databases as are asked for."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self._folder = folder
        self._programs = programs
        self._numbers = count(1)

    def url(self, database: str) -> str:
        """As SQLAlchemy takes it."""
        return f"postgresql+psycopg://tests@/{database}?host={self._folder}"

    def new_database(self, encoding: str = "UTF8") -> str:
        """The URL of an empty database."""
        name = f"record{next(self._numbers)}"
        with psycopg.connect(self._dsn("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0")
        return self.url(name)

    def dump(self, url: str) -> str:
        """The database as SQL that any connection can run."""
        command = [str(self._programs / "pg_dump"), "--inserts", "--no-owner", "--no-privileges", self.plain(url)]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        kept = [line for line in text.splitlines() if line and not line.startswith(("--", "\\", "SET ", "SELECT pg_"))]
        return "\n".join(kept) + "\n"

    def plain(self, url: str) -> str:
        """As psycopg takes it."""
        return url.replace("+psycopg", "")

    def _dsn(self, database: str) -> str:
        return self.plain(self.url(database))


@contextmanager
def postgres_server() -> Iterator[Postgres]:
    """Starts one; ends it with the block. Skips, saying what to install, where there is none."""
    programs = _programs()
    if programs is None:
        pytest.skip(_NOT_HERE)
    # Sockets need a short path, and PostgreSQL refuses to be root: where we are root it runs as `postgres`.
    folder = Path(mkdtemp(prefix="pg-"))
    user = _user()
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    state = folder / "state"
    run = {"check": True, "capture_output": True, "user": user.pw_uid if user else None, "cwd": folder}
    settings = " ".join(f"-c {name}='{value}'" for name, value in _SETTINGS.items())
    control = [str(programs / "pg_ctl"), "-D", str(state), "-w"]
    try:
        initialise = ["-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run([str(programs / "initdb"), "-D", str(state), *initialise], **run)  # type: ignore[call-overload]
        options = f"-k {folder} {settings}"
        subprocess.run([*control, "-l", str(folder / "log"), "-o", options, "start"], **run)  # type: ignore[call-overload]
        try:
            yield Postgres(folder, programs)
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **run)  # type: ignore[call-overload]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path | None:
    """Where initdb, pg_ctl and pg_dump are: the newest of Debian's versions, else on the path."""
    versions = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda each: float(each.parts[-3]), reverse=True)
    if versions:
        return versions[0].parent
    found = shutil.which("initdb")
    return None if found is None else Path(found).resolve().parent


def _user() -> pwd.struct_passwd | None:
    return pwd.getpwnam("postgres") if os.geteuid() == 0 else None

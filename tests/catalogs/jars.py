"""The jars of a real Iceberg REST catalog server: pinned, fetched once into the lab's cache, verified on each use.

Source: Maven artifacts by name, through the Ivy jar that PySpark carries. Cost: 32 MB once.
"""

import fcntl
import hashlib
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

import pytest

from bot.lab.errors import last_lines
from bot.lab.jars import cache_folder, ivy_home, java, pyspark_jars

PINS = Path(__file__).with_name("jars.txt")


class Pin(NamedTuple):
    """One artifact, as `jars.txt` names it."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str

    @property
    def file_name(self) -> str:
        """Its name in the cache."""
        return "-".join(part for part in (self.artifact, self.version, self.classifier) if part) + ".jar"


def server_jars() -> list[Path]:
    """The class path of the server. Skips the test where they are neither cached nor to be had."""
    folder = cache_folder() / "rest-catalog"
    folder.mkdir(parents=True, exist_ok=True)
    pins = [_pin(line) for line in PINS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [pin for pin in pins if not (folder / pin.file_name).exists()]
        if missing:
            _fetch(missing, folder)
    for pin in pins:
        found = hashlib.sha256((folder / pin.file_name).read_bytes()).hexdigest()
        assert found == pin.sha256, f"{pin.file_name} is not the pinned file"
    return [*(folder / pin.file_name for pin in pins), *pyspark_jars().glob("hadoop-client-*.jar")]


def _pin(line: str) -> Pin:
    name, sha256 = line.split()
    group, artifact, version, *classifier = name.split(":")
    return Pin(group, artifact, version, classifier[0] if classifier else "", sha256)


def _fetch(pins: list[Pin], folder: Path) -> None:
    ivy = next(pyspark_jars().glob("ivy-*.jar"))
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
        room = Path(scratch)
        (room / "ivy.xml").write_text(_module(pins), encoding="utf-8")
        log = folder / "ivy.log"
        command = [java(), "-jar", ivy, "-cache", ivy_home() / "cache", "-ivy", room / "ivy.xml"]
        command += ["-confs", "default", "-retrieve", f"{room}/[artifact]-[revision](-[classifier]).[ext]"]
        with log.open("w", encoding="utf-8") as told:
            subprocess.run([str(part) for part in command], stdout=told, stderr=told, check=False)
        absent = [pin.file_name for pin in pins if not (room / pin.file_name).exists()]
        if absent:
            pytest.skip(f"the REST catalog server's jars cannot be had: {absent[0]} is missing; {last_lines(log)}")
        for pin in pins:
            (room / pin.file_name).replace(folder / pin.file_name)


def _module(pins: list[Pin]) -> str:
    """An Ivy module that asks for exactly these files; one dependency may be asked for several."""
    files: dict[tuple[str, str, str], list[str]] = {}
    for pin in pins:
        files.setdefault(pin[:3], []).append(pin.classifier)
    lines = [
        f'<dependency org={quoteattr(group)} name={quoteattr(name)} rev={quoteattr(version)} transitive="false" '
        f'conf="default->master">{"".join(_artifact(name, each) for each in classifiers)}</dependency>'
        for (group, name, version), classifiers in files.items()
    ]
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven"><info organisation="waterline" '
        'module="catalogs"/><configurations><conf name="default"/></configurations>'
        f"<dependencies>{''.join(lines)}</dependencies></ivy-module>"
    )


def _artifact(name: str, classifier: str) -> str:
    told = f" m:classifier={quoteattr(classifier)}" if classifier else ""
    return f'<artifact name={quoteattr(name)} type="jar" ext="jar"{told}/>'

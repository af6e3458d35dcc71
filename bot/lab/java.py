"""Finds the Java that runs Flink and Spark, and refuses one that cannot."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from bot.lab.errors import LabError

OLDEST = 17
NEWEST = 21
_INSTALL = "Install Java 17 (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME to one."

_OPENED = (
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.net",
    "java.io",
    "java.nio",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
    "java.text",
    "java.time",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "java.util.concurrent.locks",
    "jdk.internal.ref",
)

OPENS = [
    "--add-exports=java.base/sun.net.util=ALL-UNNAMED",
    "--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
    "-Djdk.reflect.useDirectMethodHandle=false",
]
"""What Flink and Spark open by reflection."""

LEAN = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:+ExitOnOutOfMemoryError"]
"""A small heap matters more here than peak speed; a starved process must end, not limp."""

_LOG4J = """\
rootLogger.level = {level}
rootLogger.appenderRef.console.ref = Console
appender.console.name = Console
appender.console.type = CONSOLE
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %-5p %c{{1}} - %m%n%ex
"""


def log4j(level: str) -> str:
    """Properties by which a JVM writes everything from this level on to its console, where the lab keeps it."""
    return _LOG4J.format(level=level)


def java_in(java_home: str | None, search_path: str | None) -> Path:
    """The java program below `java_home`, else the first on `search_path`.

    Raises: LabError when there is none, or when it is not a Java that Flink 2.1 and Spark 4.1 both run on.
    """
    candidate = Path(java_home, "bin", "java") if java_home else None
    found = candidate if candidate and candidate.exists() else None
    if found is None and (on_path := shutil.which("java", path=search_path)):
        found = Path(on_path)
    if found is None:
        raise LabError(
            "The lab needs Java and there is none.",
            f"Expected a java program below JAVA_HOME ({java_home or 'not set'}) or on PATH; found neither.",
            _INSTALL,
        )
    version = _version_of(found)
    if not OLDEST <= version <= NEWEST:
        raise LabError(
            "This Java cannot run the lab.",
            f"Expected Java {OLDEST} to {NEWEST}; {found} is Java {version}.",
            _INSTALL,
        )
    return found


@cache
def java() -> Path:
    """The Java of this machine's environment, looked for once."""
    return java_in(os.environ.get("JAVA_HOME"), os.environ.get("PATH"))


def _version_of(program: Path) -> int:
    told = subprocess.run([str(program), "-version"], capture_output=True, text=True, timeout=30, check=False)
    match = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    if match is None:
        raise LabError(
            "Java does not say its version.",
            f"Expected a line with 'version' from {program} -version; found {told.stderr.strip()[:200]!r}.",
            _INSTALL,
        )
    return int(match.group(1))

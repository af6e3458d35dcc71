"""Builds the image of `deploy/Containerfile` with Debian's tools, and runs it as a restricted pod is run.

mmdebstrap makes the base, buildah builds, umoci unpacks, and runc runs: as nobody's user, on a root that is read-only,
without a capability. Only the network is this machine's own.
"""

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from bot.pinned_jars import cache_folder
from tests.adapters.kubernetes import cannot_be_had, is_asked_for

PROJECT = Path(__file__).parents[2]
USER = 65532
BUILD = "WATERLINE_BUILD_IMAGE"
_TOOLS = ("buildah", "mmdebstrap", "umoci", "runc")
_BASE = "waterline-test-base"
_PACKED = (
    "--variant=minbase", "--include=python3-venv,ca-certificates", "--dpkgopt=path-exclude=/usr/share/locale/*",
    "--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*", "bookworm",
)  # fmt: skip
_LIKE_A_POD = {"/tmp": "mode=1777,exec"}
"""An emptyDir may hold programs."""
_ENGINES_OWN = ("noexec", "nosuid", "nodev")
"""What docker and podman mount a tmpfs with, unless they are told something else."""
_AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
_OF_JAVA = Path("/etc/ssl/certs/java/cacerts")


def build(target: str) -> str:
    """The name of the image with this target, built where it has changed. Skips where that is not asked for."""
    if not is_asked_for(BUILD):
        pytest.skip("the image is not built here: `make test-deploy` does it, in some minutes")
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        cannot_be_had(f"root builds the image with Debian's {', '.join(_TOOLS)}; missing: {missing or 'root'}", BUILD)
    folder = cache_folder() / "image"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "base.tar").exists():
            _run("mmdebstrap", *_PACKED, str(folder / "base.part.tar"))
            (folder / "base.part.tar").rename(folder / "base.tar")
        _buildah(PROJECT / "deploy/base.Containerfile", "--tag", _BASE, str(folder))
        name = f"waterline-test-{target}"
        base = ("--build-arg", f"BASE=localhost/{_BASE}", "--target", target)
        _buildah(PROJECT / "deploy/Containerfile", *base, "--tag", name, str(PROJECT))
    return f"localhost/{name}"


def build_postgres() -> str:
    """The name of an image that stands in for PostgreSQL's own, which cannot be pulled everywhere."""
    name = "waterline-test-postgres"
    file = Path(__file__).with_name("postgres.Containerfile")
    _buildah(file, "--build-arg", f"BASE=localhost/{_BASE}", "--tag", name, str(file.parent))
    return f"localhost/{name}"


def unpacked(image: str, folder: Path) -> Path:
    """The image as a bundle that runc runs."""
    _run("buildah", "push", "--quiet", image, f"oci:{folder}/oci:it")
    _run("umoci", "unpack", "--image", f"{folder}/oci:it", str(folder / "bundle"))
    shutil.rmtree(folder / "oci")
    return folder / "bundle"


def file_of(image: str, path: str) -> str:
    """The text of one file of an image."""
    container = _run("buildah", "from", image).strip()
    try:
        return (Path(_run("buildah", "mount", container).strip()) / path).read_text(encoding="utf-8")
    finally:
        _run("buildah", "rm", container)


@contextmanager
def running(
    bundle: Path,
    command: Sequence[str],
    *,
    mounts: Mapping[str, Path],
    env: Mapping[str, str],
    log: Path,
    memory: Mapping[str, str] = _LIKE_A_POD,
    name: str | None = None,
) -> Iterator["subprocess.Popen[bytes]"]:
    """One process in the container; the others find it by the network. `mounts`: path within -> folder outside, which
    it may write into if this user may. `memory`: folder that is in memory -> options of its mount. `name`: by which
    `runc exec` finds it."""
    told = _restricted(json.loads((bundle / "config.json").read_text()), command, mounts, env, memory)
    (bundle / "config.json").write_text(json.dumps(told))
    name = name or f"waterline-{uuid4().hex[:8]}"
    with log.open("wb") as output:
        process = subprocess.Popen(["runc", "run", "--bundle", str(bundle), name], stdout=output, stderr=output)
        try:
            yield process
        finally:
            if process.poll() is None:
                subprocess.run(["runc", "kill", name, "KILL"], check=False, capture_output=True)
                process.wait(timeout=60)
            subprocess.run(["runc", "delete", "--force", name], check=False, capture_output=True)


def _restricted(
    told: dict[str, Any],
    command: Sequence[str],
    mounts: Mapping[str, Path],
    env: Mapping[str, str],
    memory: Mapping[str, str],
) -> dict[str, Any]:
    """As the chart's pod: `readOnlyRootFilesystem`, no capabilities, no new privileges."""
    told["root"]["readonly"] = True
    kept = [each for each in told["process"]["env"] if each.partition("=")[0] not in env]
    told["process"] |= {
        "terminal": False,
        "args": list(command),
        "env": [*kept, *(f"{name}={value}" for name, value in env.items())],
        "noNewPrivileges": True,
        "capabilities": {kind: [] for kind in ("bounding", "effective", "permitted", "inheritable", "ambient")},
    }
    own = {"pid", "ipc", "uts", "mount"}
    told["linux"]["namespaces"] = [each for each in told["linux"]["namespaces"] if each["type"] in own]
    for mapping in ("uidMappings", "gidMappings"):
        told["linux"].pop(mapping, None)
    own_ones = {*memory, *mounts}
    stays = [each for each in told["mounts"] if each.get("type") != "bind" and each["destination"] not in own_ones]
    scratch = [
        {"destination": folder, "type": "tmpfs", "source": "tmpfs", "options": [*_ENGINES_OWN, *options.split(",")]}
        for folder, options in memory.items()
    ]
    bound = [
        {"destination": inside, "type": "bind", "source": str(outside), "options": ["rbind", "rw"]}
        for inside, outside in mounts.items()
    ]
    told["mounts"] = [*stays, *scratch, *bound]
    return told


def _buildah(file: Path, *arguments: str) -> None:
    """With this machine's certificate authorities, which may know one more than Debian's."""
    trusting: tuple[str, ...] = ()
    if os.environ.get("PIP_CERT"):
        trusting = ("--volume", f"{_AUTHORITIES}:{_AUTHORITIES}:ro", "--env", f"PIP_CERT={_AUTHORITIES}")
        if _OF_JAVA.exists():
            store = "/run/authorities"
            trusting += ("--volume", f"{_OF_JAVA}:{store}:ro")
            trusting += ("--env", f"JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore={store}")
    _run("buildah", "build", "--layers", "--isolation", "chroot", *trusting, "--file", str(file), *arguments)


def _run(*command: str) -> str:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{' '.join(command)}: {ended.stderr[-2000:]}"
    return ended.stdout

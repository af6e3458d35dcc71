"""Helm, built once from its Go modules into the cache, as the Kubernetes API server of the tests is."""

import fcntl
import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from bot.pinned_jars import cache_folder
from tests.adapters.kubernetes import BUILD, cannot_be_had, is_asked_for

CHART = Path(__file__).parents[2] / "deploy/chart"
_SOURCE = Path(__file__).with_name("helm")
_MODULES = {
    "github.com/prometheus-operator/prometheus-operator@v0.85.0": (
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
    ),
    "github.com/external-secrets/external-secrets@v1.3.2": (
        "config/crds/bases/external-secrets.io_externalsecrets.yaml",
    ),
}
"""Definitions of the kinds that operators bring."""


def helm_program() -> Path:
    """Built here only where `make test-deploy` asks for it, and where that fails, the test does."""
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(_SOURCE.iterdir()))).hexdigest()[:16]
    folder = cache_folder() / "helm"
    program = folder / digest
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if program.exists():
            return program
        if not is_asked_for(BUILD):
            pytest.skip("Helm is not built yet: `make test-deploy` does it, in some minutes")
        go = shutil.which("go")
        if go is None:
            cannot_be_had("Helm is built from Go modules, and there is no Go", BUILD)
        built = program.with_suffix(".part")
        command = ["nice", go, "build", "-C", str(_SOURCE), "-trimpath", "-ldflags=-s -w", "-o", str(built)]
        ended = subprocess.run(
            [*command, "helm.sh/helm/v4/cmd/helm"], capture_output=True, text=True, check=False, timeout=1800
        )
        if ended.returncode:
            cannot_be_had(f"Helm could not be built: {ended.stderr[-500:]}", BUILD)
        built.replace(program)
    return program


def definitions() -> list[Path]:
    """The files of the operators' own modules."""
    go = shutil.which("go")
    if go is None:
        cannot_be_had("the operators' definitions come from their Go modules, and there is no Go", BUILD)
    found = []
    for module, files in _MODULES.items():
        told = subprocess.run(
            [go, "mod", "download", "-json", module], capture_output=True, text=True, check=False, timeout=600
        )
        if told.returncode:
            cannot_be_had(f"{module} could not be fetched: {told.stdout[-300:]}", BUILD)
        found += [Path(json.loads(told.stdout)["Dir"]) / file for file in files]
    return found

"""Helm, built once from its Go modules into the cache, as the Kubernetes API server of the tests is."""

import json
import shutil
import subprocess
from pathlib import Path

from tests.adapters.kubernetes import BUILD, built_from_go, cannot_be_had

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
    """The built command."""
    return built_from_go("helm", "Helm", _SOURCE, "test-deploy", "helm.sh/helm/v4/cmd/helm")


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

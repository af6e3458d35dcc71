"""The chart: what it renders a real Kubernetes API server takes, and what contradicts itself is refused."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.settings import Settings, WebSettings
from bot.web.access import Access
from tests.adapters.kubernetes import ADMIN, Kubernetes, kubernetes
from tests.deploy.charts import CHART, definitions, helm_program
from tests.deploy.image import PROJECT
from tests.docs.blocks import blocks, commands
from tests.slack.people import eventually
from tests.web.conftest import served
from tests.web.scene import Scene

by_helm = pytest.mark.slow
pytestmark = pytest.mark.timeout(1800)
RELEASE, NAMESPACE, JOBS = "waterline", "oncall", "streaming"
CONFIG = {
    "catalog": {"name": "lake", "properties": {"type": "rest", "uri": "http://catalog:8181"}},
    "tables": {"sales.orders": {"contract": {"key": ["order_id"]}, "policies": {"default": {"users": ["U0BEN00001"]}}}},
    "journal": {"url": "postgresql+psycopg://waterline@db/waterline"},
}
LEAST = {"config": CONFIG, "secrets": {"existing": "waterline"}}
MOST = {
    "config": CONFIG | {"slack": {"mode": "http"}},
    "secrets": {"values": {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_SIGNING_SECRET": "s", "WATERLINE_WEB_TOKEN": "t"}},
    "replicas": 3,
    "env": [{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://collector:4318"}],
    "imagePullSecrets": [{"name": "registry"}],
    "extraVolumes": [{"name": "authority", "configMap": {"name": "authority"}}],
    "extraVolumeMounts": [{"name": "authority", "mountPath": "/etc/authority"}],
    "persistence": {"enabled": True, "storageClass": "fast"},
    "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/waterline"}},
    "flinkOperator": {"namespaces": [JOBS]},
    "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "tls"},
    "networkPolicy": {"from": [{"podSelector": {}}], "egress": [{"ports": [{"port": 443}]}]},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {
        "enabled": True,
        "address": "https://oncall.acme.example/",
        "docs": "https://docs.acme.example/waterline/",
    },
    "dashboard": {"enabled": True},
    "podLabels": {"team": "streaming"},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "oncall", "operator": "Exists"}],
    "priorityClassName": "high",
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    ],
}
EXTERNAL = {
    "config": CONFIG,
    "secrets": {"external": {"enabled": True, "store": {"name": "vault"}, "key": "waterline"}},
}
ON_SQLITE = {
    "config": {name: each for name, each in CONFIG.items() if name != "journal"},
    "secrets": {"existing": "waterline"},
    "replicas": 1,
    "persistence": {"enabled": True},
}


def helm(folder: Path, *arguments: str, values: dict[str, Any] | None = None) -> "subprocess.CompletedProcess[str]":
    """`values` as a file; it goes on when Helm refuses."""
    if values is not None:
        (folder / "values.yaml").write_text(yaml.safe_dump(values))
        arguments = (*arguments, "--values", str(folder / "values.yaml"))
    own = {f"HELM_{kind}_HOME": str(folder / kind) for kind in ("CACHE", "CONFIG", "DATA")}
    return subprocess.run(
        [str(helm_program()), *arguments], capture_output=True, text=True, check=False, env={**os.environ, **own}
    )


def rendered(folder: Path, values: dict[str, Any]) -> list[dict[str, Any]]:
    told = helm(folder, "template", RELEASE, str(CHART), "--namespace", NAMESPACE, values=values)
    assert told.returncode == 0, told.stderr
    return [each for each in yaml.safe_load_all(told.stdout) if each]


def one(objects: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (found,) = [each for each in objects if each["kind"] == kind and not each["metadata"]["name"].endswith("-test")]
    return found


@by_helm
@pytest.mark.parametrize("values", [LEAST, MOST, EXTERNAL, ON_SQLITE], ids=["least", "most", "external", "sqlite"])
def test_the_configuration_that_the_pod_gets_is_a_good_one(tmp_path: Path, values: dict[str, Any]) -> None:
    """What the chart adds fits the settings; the bot itself reads it."""
    text = next(
        each["data"]["waterline.yaml"]
        for each in rendered(tmp_path, values)
        if each["kind"] == "ConfigMap" and "waterline.yaml" in each["data"]
    )
    (tmp_path / "waterline.yaml").write_text(text)

    read = Settings.load(tmp_path / "waterline.yaml")

    assert read.web.pages
    assert not read.web.is_loopback
    assert (read.web.port, str(read.home)) == (8370, "/var/lib/waterline")


@by_helm
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"config": {}}, "config is empty"),
        ({"secrets": {"existing": ""}}, "Expected one source of secrets, found 0"),
        ({"secrets": {"existing": "a", "values": {"B": "c"}}}, "Expected one source of secrets, found 2"),
        ({"config": {"tables": {}}}, "A record in SQLite takes one pod"),
        ({"config": {"tables": {}}, "replicas": 1}, "would be lost with its pod"),
        ({"config": {"home": "/elsewhere"}}, "home"),
        ({"replica": 2}, "replica"),
        ({"replicas": -1}, "replicas"),
        ({"service": {"type": "ExternalName"}}, "type"),
    ],
)
def test_a_contradiction_is_refused_before_anything_is_installed(
    tmp_path: Path, wrong: dict[str, Any], told: str
) -> None:
    refused = helm(tmp_path, "template", RELEASE, str(CHART), values=LEAST | wrong)

    assert refused.returncode != 0
    assert told in refused.stderr


def test_every_value_is_known_to_the_schema() -> None:
    """And the schema knows no other."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = json.loads((CHART / "values.schema.json").read_text())

    def compared(value: Any, known: dict[str, Any], path: str) -> None:
        if isinstance(value, dict) and known.get("additionalProperties") is False:
            assert set(value) == set(known["properties"]) - {"global"}, path
            for name, each in value.items():
                compared(each, known["properties"][name], f"{path}.{name}")

    compared(values, schema, "")


@by_helm
def test_the_chart_gives_the_rights_that_the_operator_needs(tmp_path: Path) -> None:
    """The same as the file for a cluster without Helm; and a pod without such jobs gets no token."""
    file = list(yaml.safe_load_all((PROJECT / "deploy/kubernetes/flink-operator-rights.yaml").read_text()))
    most, least = rendered(tmp_path, MOST), rendered(tmp_path, LEAST)

    assert one(most, "Role")["rules"] == file[0]["rules"]
    assert one(most, "Role")["metadata"]["namespace"] == JOBS
    assert one(most, "RoleBinding")["subjects"][0]["namespace"] == NAMESPACE
    assert one(most, "Deployment")["spec"]["template"]["spec"]["automountServiceAccountToken"]
    assert not one(least, "Deployment")["spec"]["template"]["spec"]["automountServiceAccountToken"]
    assert not [each for each in least if each["kind"] == "Role"]


@by_helm
def test_who_is_named_may_connect_and_so_may_the_pod_of_helm_test(tmp_path: Path) -> None:
    """Nobody else: the pages are closed to a pod of another team, and Slack's port to the pod of the test."""
    monitoring = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    objects = rendered(tmp_path, MOST | {"networkPolicy": {"from": [monitoring]}})
    (test,) = [each for each in objects if each["kind"] == "Pod"]
    by_name, by_labels = one(objects, "NetworkPolicy")["spec"]["ingress"]
    (peer,) = by_labels["from"]

    assert by_name["from"] == [monitoring]
    assert peer == {"podSelector": {"matchLabels": test["metadata"]["labels"]}}
    assert [each["port"] for each in by_labels["ports"]] == ["web"]
    assert "from" not in one(rendered(tmp_path, LEAST), "NetworkPolicy")["spec"]["ingress"][0]


@by_helm
def test_replicas_go_to_different_nodes_where_there_are_some(tmp_path: Path) -> None:
    """One node is enough to start, and whoever sets constraints has only those."""
    pod = one(rendered(tmp_path, LEAST), "Deployment")["spec"]["template"]
    (spread,) = pod["spec"]["topologySpreadConstraints"]

    assert (spread["topologyKey"], spread["whenUnsatisfiable"]) == ("kubernetes.io/hostname", "ScheduleAnyway")
    assert spread["labelSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert (
        one(rendered(tmp_path, MOST), "Deployment")["spec"]["template"]["spec"]["topologySpreadConstraints"]
        == MOST["topologySpreadConstraints"]
    )


@by_helm
def test_alerts_lead_to_the_pages_of_this_installation_or_nowhere(tmp_path: Path) -> None:
    """Never to a placeholder: without an address there is no link."""
    linked = one(rendered(tmp_path, MOST), "PrometheusRule")["spec"]
    unlinked = one(rendered(tmp_path, {**LEAST, "prometheusRule": {"enabled": True}}), "PrometheusRule")["spec"]
    addresses = re.findall(r"https://[^{#\"]+", json.dumps(linked))

    docs = "https://docs.acme.example/waterline/docs/alerts.html"
    assert {"https://oncall.acme.example/tables/", docs} == set(addresses)
    assert "https://" not in json.dumps(unlinked)
    assert [len(group["rules"]) for group in linked["groups"]] == [len(group["rules"]) for group in unlinked["groups"]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubernetes]:
    """An API server with the operators' definitions, and a namespace that takes restricted pods only."""
    with kubernetes(tmp_path_factory.mktemp("kubernetes")) as up:
        for file in definitions():
            up.installed(yaml.safe_load(file.read_text()))
        for name in (NAMESPACE, JOBS):
            labels = {"pod-security.kubernetes.io/enforce": "restricted"}
            up.asked("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
        for name in ("default", RELEASE):  # no controller runs here, and a pod of no account is refused
            up.asked("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": name}})
        yield up


@by_helm
@pytest.mark.parametrize("values", [LEAST, MOST, EXTERNAL, ON_SQLITE], ids=["least", "most", "external", "sqlite"])
def test_the_api_server_takes_everything_that_is_rendered(
    tmp_path: Path, cluster: Kubernetes, values: dict[str, Any]
) -> None:
    """Each object is applied without effect; a field that is unknown, or a pod that is not restricted, is refused."""
    objects = rendered(tmp_path, values)
    template = one(objects, "Deployment")["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "as-deployed"}, "spec": template["spec"]}
    pod["spec"].pop("priorityClassName", None)

    refused = {
        f"{each['kind']} {each['metadata']['name']}": answer.text
        for each in (*objects, pod)
        if not (answer := applied(cluster, each)).is_success
    }

    assert not refused
    assert len(objects) >= 5


def applied(cluster: Kubernetes, told: dict[str, Any]) -> Any:
    group = told["apiVersion"]
    base = f"/api/{group}" if "/" not in group else f"/apis/{group}"
    kinds = {each["kind"]: each["name"] for each in cluster.asked("GET", base)["resources"] if "/" not in each["name"]}
    namespace = told["metadata"].get("namespace", NAMESPACE)
    path = f"{base}/namespaces/{namespace}/{kinds[told['kind']]}/{told['metadata']['name']}"
    return cluster.admin.patch(
        path,
        params={"dryRun": "All", "fieldManager": "helm", "fieldValidation": "Strict", "force": "true"},
        content=yaml.safe_dump(told),
        headers={"content-type": "application/apply-patch+yaml"},
    )


@by_helm
def test_it_is_installed_upgraded_and_rolled_back(tmp_path: Path, cluster: Kubernetes) -> None:
    """By Helm itself; the old version never runs beside the new one, and the claim of the record stays at the end."""
    within = ("--namespace", NAMESPACE, *logged_in(tmp_path, cluster))
    deployment = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{RELEASE}"

    def ran(*arguments: str, values: dict[str, Any] | None = None) -> tuple[str, int]:
        told = helm(tmp_path, *arguments, *within, values=values)
        assert told.returncode == 0, told.stderr
        spec = cluster.asked("GET", deployment)["spec"]
        assert spec["strategy"] == {"type": "Recreate"}
        return spec["template"]["spec"]["containers"][0]["image"], spec["replicas"]

    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{RELEASE}"
    cluster.asked("DELETE", account)  # Helm takes over nothing
    newer = ON_SQLITE | {"image": {"repository": "waterline", "tag": "0.2.0"}}
    installed = ran("install", RELEASE, str(CHART), "--wait=hookOnly", values=ON_SQLITE)
    upgraded = ran("upgrade", RELEASE, str(CHART), "--wait=hookOnly", values=newer)
    stopped = ran("upgrade", RELEASE, str(CHART), "--wait=hookOnly", values=newer | {"replicas": 0})
    back = ran("rollback", RELEASE, "1", "--wait=hookOnly")
    removed = helm(tmp_path, "uninstall", RELEASE, *within, "--wait=hookOnly")

    assert installed == back == ("waterline:0.1.0", 1)
    assert (upgraded, stopped) == (("waterline:0.2.0", 1), ("waterline:0.2.0", 0))
    cluster.asked("POST", account.removesuffix(f"/{RELEASE}"), {"metadata": {"name": RELEASE}})
    assert removed.returncode == 0, removed.stderr
    assert cluster.admin.get(deployment).status_code == 404
    assert cluster.admin.get(f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims/{RELEASE}").is_success


def logged_in(folder: Path, cluster: Kubernetes) -> tuple[str, str]:
    """Helm's option for this cluster."""
    login = {"clusters": [{"name": "it", "cluster": {
        "server": cluster.address, "certificate-authority": str(cluster.authority)}}],
        "users": [{"name": "it", "user": {"token": ADMIN}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "apiVersion": "v1", "kind": "Config", "current-context": "it"}  # fmt: skip
    (folder / "kubeconfig").write_text(yaml.safe_dump(login))
    return "--kubeconfig", str(folder / "kubeconfig")


@by_helm
def test_helm_test_passes_where_the_bot_is_ready_and_says_where_it_is_not(tmp_path: Path, cluster: Kubernetes) -> None:
    """By Helm itself. There is no node, so this test runs the pod's command, and writes what a kubelet would."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.asked("POST", "/api/v1/namespaces", {"metadata": {"name": "tried", "labels": labels}})
    cluster.asked("POST", "/api/v1/namespaces/tried/serviceaccounts", {"metadata": {"name": "default"}})
    within = ("--namespace", "tried", *logged_in(tmp_path, cluster))
    pod = f"/api/v1/namespaces/tried/pods/{RELEASE}-test"
    installed = helm(tmp_path, "install", RELEASE, str(CHART), "--wait=hookOnly", *within, values=LEAST)
    (tmp_path / "scene").mkdir()
    scene = Scene(tmp_path / "scene")

    def tested(slack: str | None) -> tuple[int, str]:
        """Exit code of Helm, and what the pod printed."""
        with (
            served(scene, Access(WebSettings(), None), checks={"slack": lambda: slack}) as address,
            ThreadPoolExecutor() as beside,
        ):
            testing = beside.submit(helm, tmp_path, "test", RELEASE, "--timeout=120s", *within)
            eventually(lambda: '"phase":"Pending"' in cluster.admin.get(pod).text.replace(" ", ""), timeout_s=60)
            (container,) = cluster.asked("GET", pod)["spec"]["containers"]
            script = container["args"][0].replace(f"http://{RELEASE}/", f"{address}/")
            ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
            phase = "Failed" if ran.returncode else "Succeeded"
            cluster.merge(f"{pod}/status", {"status": {"phase": phase}})
            return testing.result().returncode, ran.stdout

    hindered, ready = tested("The socket to Slack is not connected."), tested(None)
    scene.close()

    assert installed.returncode == 0, installed.stderr
    assert (hindered[0], ready[0]) == (1, 0)
    assert "The socket to Slack is not connected." in hindered[1]
    assert '"slack": "ok"' in ready[1]


@by_helm
def test_the_lines_of_the_pages_install_it_upgrade_it_and_go_back(
    tmp_path: Path, cluster: Kubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they stand there, with the values of the page. `helm test` needs a node, so only its options are read."""
    typed = [line for block in blocks("console") for line in commands(block) if line.startswith("helm ")]
    typed.sort(key=lambda line: not line.startswith("helm install"))
    (values,) = [block.text for block in blocks("yaml", under="deploy/README.md") if "config:" in block.text]
    (tmp_path / "values.yaml").write_text(values)
    (tmp_path / "deploy").symlink_to(PROJECT / "deploy")
    cluster.asked("POST", "/api/v1/namespaces", {"metadata": {"name": "waterline"}})
    monkeypatch.chdir(tmp_path)

    told = {}
    for line in typed:
        more = ("--help",) if line.startswith("helm test") else logged_in(tmp_path, cluster)
        told[line] = helm(tmp_path, *shlex.split(line)[1:], *more)

    spec = cluster.asked("GET", "/apis/apps/v1/namespaces/waterline/deployments/waterline")["spec"]
    assert {"install", "upgrade", "test", "history", "rollback"} == {line.split()[1] for line in typed}
    assert {line: each.stderr for line, each in told.items() if each.returncode} == {}
    assert "STATUS" in told["helm history waterline --namespace waterline"].stdout
    assert spec["replicas"] == 2
    assert spec["template"]["spec"]["containers"][0]["image"] == "registry.example.com/waterline:0.1.0"

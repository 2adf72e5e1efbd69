"""The Helm chart, rendered by Helm and checked with Kubernetes' schemas."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
import yaml

from config.services.supervisor import AFTER_KILL_SECONDS, STOP_SECONDS
from config.settings import QUEUES
from tests.paths import ROOT
from tests.support.helm_chart import render

pytest.importorskip("helm_python", reason="its package has no wheel for this machine")
kubernetes_validate = pytest.importorskip("kubernetes_validate")

CHART = ROOT / "docker" / "helm" / "occurrent"
#: The oldest that the chart allows, and the newest whose schemas the package has.
VERSIONS = ("1.29", kubernetes_validate.latest_version())
EVERYTHING: dict[str, Any] = {
    "settings": {"MODEL_PRESET": "qwen3", "WEB_THREADS": 16},
    "extraSecretNames": ["model-keys"],
    "images": {"pullSecrets": ["registry"]},
    "workers": {
        "embed": {
            "resources": {"limits": {"memory": "24Gi", "nvidia.com/gpu": 1}},
            "nodeSelector": {"card": "yes"},
            "tolerations": [{"key": "card", "operator": "Exists"}],
            "options": "--pool solo",
        },
        "rest": {"replicas": 1, "options": "--pool threads", "queues": "pipeline,judge"},
    },
    "autoscaling": {
        "enabled": True,
        "workers": {"rest": {"minReplicas": 0, "maxReplicas": 2}},
    },
    "backup": {"enabled": True, "recipient": "age1example", "claim": "backups"},
    "files": {"storageClassName": "nfs"},
    "ingress": {"enabled": True, "annotations": {"a": "b"}},
    "networkPolicy": {"from": [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}]},
}
CASES = pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "everything"])


@cache
def _render(everything: bool) -> dict[str, Any]:
    return render(CHART, EVERYTHING if everything else {})


def objects(values: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects of the rendered chart."""
    files = _render(bool(values))["files"]
    texts = [text for name, text in files.items() if name.endswith(".yaml")]
    return [found for text in texts for found in yaml.safe_load_all(text) if found]


def pods(values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the specification of each pod by the name of its owner."""
    found = {}
    for item in objects(values):
        spec = item["spec"].get("jobTemplate", item)["spec"]
        if "template" in spec:
            found[item["metadata"]["name"]] = spec["template"]["spec"]
    return found


def variables(pod: dict[str, Any]) -> dict[str, str]:
    (container,) = pod["containers"]
    return {entry["name"]: entry["value"] for entry in container["env"]}


@CASES
def test_helm_finds_no_fault(values):
    """Only its wish for an icon is left, which is information."""
    lint = _render(bool(values))["lint"]
    assert lint["errors"] == []
    assert [m["error"] for m in lint["messages"]] == ["icon is recommended"]


@CASES
@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_accepts_every_object(values, version):
    kinds = set()
    for item in objects(values):
        kinds.add(item["kind"])
        if item["kind"] != "ScaledObject":
            kubernetes_validate.validate(item, version, strict=True)
    assert {"Deployment", "Service", "Job", "PersistentVolumeClaim", "NetworkPolicy"} < kinds


def test_a_wrong_object_is_refused():
    """The check above fails on an unknown field."""
    (service,) = [item for item in objects({}) if item["kind"] == "Service"]
    service["spec"]["sort"] = "x"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(service, VERSIONS[0], strict=True)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"replicas": 2}, "replicas"),
        ({"settings": {"lower": "1"}}, "lower"),
        (
            {"workers": {"x": {"replicas": 1, "options": "", "queues": "other"}}},
            "/workers/x/queues",
        ),
        (
            {
                "autoscaling": {
                    "enabled": True,
                    "workers": {"none": {"minReplicas": 0, "maxReplicas": 1}},
                }
            },
            "autoscaling.workers.none is not one of workers",
        ),
        ({"backup": {"enabled": True}}, "backup.recipient is missing"),
    ],
)
def test_wrong_values_are_refused_by_name(values, named):
    assert named in render(CHART, values)["error"]


@CASES
def test_every_queue_has_a_worker(values):
    worked: set[str] = set()
    for name, pod in pods(values).items():
        if "-worker-" in name:
            (container,) = pod["containers"]
            words = container["args"]
            assert container["command"] == ["python", "-m", "config.services.worker"]
            worked |= set(words[words.index("--queues") + 1].split(","))
    assert worked == set(QUEUES)


@CASES
def test_only_migration_and_backup_can_connect_as_the_owner(values):
    for name, pod in pods(values).items():
        keys = [
            item["key"]
            for volume in pod["volumes"]
            for item in volume.get("secret", {}).get("items", [])
        ]
        owner = ["database_owner_url"] if name in ("demo-migrate", "demo-backup") else []
        assert keys == ["secret_key", "database_url", "broker_url", *owner], name
        assert ("DATABASE_OWNER_URL_FILE" in variables(pod)) == bool(owner)
        mounted = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}


def test_the_commands_of_the_values_make_every_key():
    head = (CHART / "values.yaml").read_text("utf-8").split("\nhost:")[0]
    made = set(re.findall(r"--from-file=(\w+)", head))
    files = {value for pod in pods(EVERYTHING).values() for value in variables(pod).values()}
    read = {file.rsplit("/", 1)[1] for file in files if file.startswith("/run/secrets/")}
    assert made == read
    name = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))["secretName"]
    assert f"secret generic {name} " in head


@CASES
def test_a_pod_is_limited_and_unprivileged(values):
    for name, pod in pods(values).items():
        (container,) = pod["containers"]
        assert "memory" in container["resources"]["limits"], name
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@CASES
def test_a_stopped_worker_has_time_to_give_its_jobs_back(values):
    workers = [pod for name, pod in pods(values).items() if "-worker-" in name]
    assert len(workers) >= 5
    for pod in workers:
        assert pod["terminationGracePeriodSeconds"] > STOP_SECONDS + AFTER_KILL_SECONDS
        assert pod["shareProcessNamespace"] is True


@CASES
def test_every_selector_selects_its_pods(values):
    labels = [
        item["spec"]["template"]["metadata"]["labels"]
        for item in objects(values)
        if "template" in item["spec"]
    ]
    for item in objects(values):
        spec = item["spec"]
        selector = spec.get("selector") or spec.get("podSelector")
        if item["kind"] in ("Deployment", "PodDisruptionBudget", "Service", "NetworkPolicy"):
            wanted = (selector.get("matchLabels") or selector).items()
            assert [found for found in labels if wanted <= found.items()], item["metadata"]["name"]


@CASES
def test_every_setting_is_explained(values):
    example = (ROOT / ".env.example").read_text("utf-8")
    known = set(re.findall(r"^#([A-Z_]+)=", example, re.MULTILINE))
    for pod in pods(values).values():
        names = {name.removesuffix("_FILE") for name in variables(pod)} - {"HOME"}
        assert names - {name.removesuffix("_FILE") for name in known} == set()


def test_a_scaled_worker_has_no_replicas_of_its_own():
    """Helm would reset what the autoscaler chose."""
    scaled = {
        i["metadata"]["name"]: i["spec"] for i in objects(EVERYTHING) if i["kind"] == "ScaledObject"
    }
    assert set(scaled) == {f"demo-worker-{name}" for name in ("pipeline", "generate", "rest")}
    for item in objects(EVERYTHING):
        if item["kind"] == "Deployment":
            assert ("replicas" not in item["spec"]) == (item["metadata"]["name"] in scaled)
    (trigger,) = scaled["demo-worker-rest"]["triggers"]
    assert trigger["type"] == "prometheus"
    assert '{queue=~"pipeline|judge"}' in trigger["metadata"]["query"]

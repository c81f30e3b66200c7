"""The example for Kubernetes: what can be checked of it without a cluster."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pyspark
import pytest
import yaml

from tests.support.docs_pages import ROOT
from topwater import run
from topwater_lab.services import started

FOLDER = ROOT / "examples" / "kubernetes"
OURS = [each for each in yaml.safe_load_all((FOLDER / "query.yaml").read_text()) if each]
[OPERATED] = yaml.safe_load_all((FOLDER / "spark-application.yaml").read_text())

# The fields of the operator's v1beta2 that the example uses; its schema comes with the operator.
APPLICATION = {
    *("type", "pythonVersion", "mode", "sparkVersion", "image", "imagePullPolicy", "arguments"),
    *("mainApplicationFile", "restartPolicy", "sparkConf", "volumes", "driver", "executor"),
}
POD = {"cores", "memory", "memoryOverhead", "labels", "ports", "env", "volumeMounts"}


def one(kind: str, name: str | None = None) -> Any:
    [found] = [
        each for each in OURS if each["kind"] == kind and name in (None, each["metadata"]["name"])
    ]
    return found


def rank() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rank_on_kubernetes", FOLDER / "rank.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pod() -> Any:
    return one("StatefulSet")["spec"]["template"]


def driver() -> Any:
    [found] = pod()["spec"]["containers"]
    return found


def settings() -> dict[str, str]:
    """Those of Spark, as it reads them."""
    lines = one("ConfigMap")["data"]["spark-defaults.conf"].splitlines()
    pairs = (line.split(None, 1) for line in lines if line and not line.startswith("#"))
    return {name: value.strip() for name, value in pairs}


def test_all_is_in_one_namespace() -> None:
    name = one("Namespace")["metadata"]["name"]
    others = [each for each in (*OURS, OPERATED) if each["kind"] != "Namespace"]
    assert {each["metadata"]["namespace"] for each in others} == {name}
    assert settings()["spark.kubernetes.namespace"] == name
    [subject] = one("RoleBinding")["subjects"]
    assert subject["namespace"] == name


def test_names_lead_to_what_is_there() -> None:
    account = one("ServiceAccount")["metadata"]["name"]
    claim = one("PersistentVolumeClaim")["metadata"]["name"]
    spec, conf = pod()["spec"], settings()
    assert spec["serviceAccountName"] == account
    assert conf["spark.kubernetes.authenticate.executor.serviceAccountName"] == account
    assert one("RoleBinding")["subjects"][0]["name"] == account
    assert one("RoleBinding")["roleRef"]["name"] == one("Role")["metadata"]["name"]
    claims = {each["persistentVolumeClaim"]["claimName"] for each in spec["volumes"][:1]}
    volume = "spark.kubernetes.executor.volumes.persistentVolumeClaim.data"
    assert claims == {claim, conf[f"{volume}.options.claimName"]}
    assert spec["volumes"][1]["configMap"]["name"] == one("ConfigMap")["metadata"]["name"]
    mounts = {each["name"]: each["mountPath"] for each in driver()["volumeMounts"]}
    assert mounts.keys() == {each["name"] for each in spec["volumes"]}
    assert mounts["data"] == conf[f"{volume}.mount.path"] == driver()["args"][-2]
    properties = f"{mounts['settings']}/{next(iter(one('ConfigMap')['data']))}"
    assert driver()["args"][1] == properties


def test_executors_find_the_driver() -> None:
    stateful, service, conf = one("StatefulSet"), one("Service", "top-users"), settings()
    name, where = stateful["metadata"]["name"], stateful["metadata"]["namespace"]
    assert stateful["spec"]["serviceName"] == service["metadata"]["name"]
    assert service["spec"]["clusterIP"] == "None"
    host = f"{name}-0.{service['metadata']['name']}.{where}.svc"
    assert conf["spark.driver.host"] == host
    ports = {each["name"]: str(each["port"]) for each in service["spec"]["ports"]}
    assert ports["driver"] == conf["spark.driver.port"]
    assert ports["blocks"] == conf["spark.driver.blockManager.port"]
    labels = pod()["metadata"]["labels"]
    assert stateful["spec"]["selector"]["matchLabels"] == labels
    for each in (service, one("Service", "top-users-metrics")):
        assert each["spec"]["selector"].items() <= labels.items()


def test_a_checkpoint_has_one_writer() -> None:
    assert one("StatefulSet")["spec"]["replicas"] == 1


def test_metrics_are_where_they_are_served() -> None:
    port = int(rank().METRICS.rpartition(":")[2])
    service = one("Service", "top-users-metrics")
    assert service["spec"]["ports"] == [{"name": "metrics", "port": port, "targetPort": "metrics"}]
    assert service["metadata"]["annotations"]["prometheus.io/port"] == str(port)
    for ports in (driver()["ports"], OPERATED["spec"]["driver"]["ports"]):
        assert [(each["name"], each["containerPort"]) for each in ports] == [("metrics", port)]


def test_python_and_the_state_store_have_memory_beside_the_heap() -> None:
    conf, executor = settings(), OPERATED["spec"]["executor"]
    heap, beside = conf["spark.executor.memory"], conf["spark.executor.memoryOverhead"]
    assert int(beside[:-1]) >= int(heap[:-1])
    assert (executor["memory"], executor["memoryOverhead"]) == (heap, beside)


def test_secrets_are_in_the_environment_of_those_who_ask() -> None:
    """Executors ask, and the driver looks at the start; no manifest has the secret itself."""
    named = re.findall(r"\$\{(\w+)\}", (FOLDER / "rank.py").read_text())
    assert named == ["FOLLOWERS_TOKEN"]
    assert settings()[f"spark.kubernetes.executor.secretKeyRef.{named[0]}"] == "followers:token"
    places = [driver()["env"], *(OPERATED["spec"][each]["env"] for each in ("driver", "executor"))]
    for place in places:
        found = {each["name"]: each["valueFrom"] for each in place}
        assert found[named[0]] == {"secretKeyRef": {"name": "followers", "key": "token"}}
    assert not [each for each in OURS if each["kind"] == "Secret"]


def test_one_image_of_this_version_of_spark() -> None:
    images = {driver()["image"], settings()["spark.kubernetes.container.image"]}
    assert images == {OPERATED["spec"]["image"]}
    assert f"docker build -t {images.pop()} ." in (FOLDER / "README.md").read_text()
    assert OPERATED["spec"]["sparkVersion"] == pyspark.__version__
    assert f"FROM apache/spark:{pyspark.__version__} " in (FOLDER / "Dockerfile").read_text()


def test_the_operators_fields_are_those_it_has() -> None:
    assert OPERATED["apiVersion"] == "sparkoperator.k8s.io/v1beta2"
    assert OPERATED["kind"] == "SparkApplication"
    spec = OPERATED["spec"]
    assert spec.keys() <= APPLICATION
    assert spec["driver"].keys() <= POD | {"serviceAccount"}
    assert spec["executor"].keys() <= POD | {"instances"}
    assert spec["mainApplicationFile"] == f"local://{driver()['args'][-3]}"
    assert spec["arguments"] == driver()["args"][-2:]


def instructions() -> Iterator[tuple[str, str]]:
    """Those of the Dockerfile, with what follows them."""
    text = (FOLDER / "Dockerfile").read_text().replace("\\\n", " ")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            yield word, rest.strip()


def test_the_image_is_made_of_what_is_there() -> None:
    found = [*instructions()]
    assert {word for word, _ in found} <= {
        *("FROM", "RUN", "COPY", "ENV", "WORKDIR", "USER", "ENTRYPOINT")
    }
    bases = [rest.split()[0] for word, rest in found if word == "FROM"]
    assert all(":" in each and not each.endswith(":latest") for each in bases)
    copied = [rest.split()[0] for word, rest in found if word == "COPY" and "--from" not in rest]
    assert copied == ["topwater-*.whl", "rank.py"]
    assert dict(found)["USER"] == str(pod()["spec"]["securityContext"]["runAsUser"])
    [program] = [rest.split()[1] for word, rest in found if rest.startswith("rank.py")]
    assert program == driver()["args"][-3]
    versions = [re.match(r"python:3\.(\d+)", each) for each in bases]
    assert [int(each[1]) >= 11 for each in versions if each] == [True]


def test_the_query_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """In process, over a service that answers as the example's does."""
    monkeypatch.setenv("FOLLOWERS_TOKEN", "secret")
    module = rank()
    events = {"user": [1, 2, 2], "at": [5_000, 8_000, 250_000]}
    with started() as service:
        source = module.source(f"{service.url}/followers?ids={{keys}}")
        answers = list(run(module.QUERY, [events], source=source))
    assert sum(each.freshness.fetched for each in answers if each.freshness) >= 2
    assert Path(module.__file__ or "").parent == FOLDER

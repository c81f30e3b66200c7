"""The manifests of the example for Kubernetes hold the schemas of kubernetes-validate."""

from __future__ import annotations

import copy
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.support.docs_pages import ROOT

FOLDER = ROOT / "examples" / "kubernetes"
OURS = [each for each in yaml.safe_load_all((FOLDER / "query.yaml").read_text()) if each]
VERSION = kubernetes_validate.latest_version()


@pytest.mark.parametrize(
    "each", OURS, ids=lambda each: f"{each['kind']} {each['metadata']['name']}"
)
def test_the_schemas_of_kubernetes_hold(each: Any) -> None:
    kubernetes_validate.validate(each, VERSION, strict=True)


def test_a_wrong_manifest_is_seen() -> None:
    [wrong] = [copy.deepcopy(each) for each in OURS if each["kind"] == "StatefulSet"]
    wrong["spec"]["replica"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSION, strict=True)

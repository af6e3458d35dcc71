"""The upgrade mode of the people: kept beside a suspension of ours, and believed for as long as that stands."""

import json
from typing import Any

import pytest

from bot.adapters.flink_operator_resource import KEPT_MODE, FlinkResource, resource_of
from tests.adapters.test_flink_operator_says_no import resource


def by(manager: str, *names: str) -> dict[str, Any]:
    """These fields of `spec.job` are as this one wrote them."""
    job = {f"f:{each}": {} for each in names}
    return {"manager": manager, "operation": "Update", "fieldsV1": {"f:spec": {"f:job": job}}}


def seen(state: str, mode: str, *writers: dict[str, Any]) -> FlinkResource:
    """A resource with the annotation of a stop of ours, whose people had `stateless`."""
    told = resource(mode=mode)
    told["spec"]["job"]["state"] = state
    told["metadata"] |= {"annotations": {KEPT_MODE: "stateless"}, "managedFields": list(writers)}
    return resource_of(json.dumps(told).encode(), "flinkdeployment orders")


def restored(told: FlinkResource) -> object:
    """The mode that a start of ours puts back."""
    return told.to_restore("s3://s/1", 9, allow_non_restored=False)["spec"]["job"]["upgradeMode"]  # type: ignore[index]


def test_between_our_stop_and_our_start_the_annotation_tells_the_mode() -> None:
    """Also for another process: all of it stands in the resource."""
    ours = by("waterline", "state", "upgradeMode")

    assert "stateless" == restored(seen("suspended", "last-state", by("kubectl", "jarURI"), ours))


def test_a_mode_that_our_stop_did_not_change_is_not_ours() -> None:
    """Kubernetes counts as ours what we changed; people changed it since."""
    writers = by("kubectl", "upgradeMode"), by("waterline", "state")

    assert "last-state" == restored(seen("suspended", "last-state", *writers))


@pytest.mark.parametrize(
    ("state", "writers"),
    [
        ("running", [by("kubectl", "state", "upgradeMode")]),
        ("running", [by("kubectl", "state"), by("waterline", "upgradeMode")]),
        ("suspended", [by("kubectl", "state", "upgradeMode")]),
        ("suspended", [by("kubectl", "state"), by("waterline", "upgradeMode")]),
        ("suspended", [by("flux", "state", "upgradeMode"), by("waterline", "state", "upgradeMode")]),
        ("suspended", []),
    ],
    ids=[
        "people started it",
        "people started it in our mode",
        "people suspended it again",
        "people suspended it again in our mode",
        "somebody applies the same",
        "Kubernetes does not tell",
    ],
)
def test_an_annotation_that_is_left_behind_puts_no_mode_back(state: str, writers: list[dict[str, Any]]) -> None:
    """`stateless` would lose the state at the next upgrade."""
    told = seen(state, "last-state", *writers)

    stopped = told.to_suspend(keeps_checkpoints=False)

    assert "last-state" == restored(told)
    assert {KEPT_MODE: "last-state"} == stopped["metadata"]["annotations"]  # type: ignore[index]

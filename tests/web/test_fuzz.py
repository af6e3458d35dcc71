"""The API keeps its own description, whatever it is asked: Schemathesis makes the requests from `/v1/openapi.json`."""

import hashlib
import hmac
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.schemas import OpenApiSchema

from bot.service.alerts import AlertDesk
from bot.service.record import Records
from bot.service.sightings import Sightings
from bot.settings import WebSettings
from bot.web.access import Access
from bot.web.alerts import AlertRoutes
from bot.web.app import serving, web_app
from tests.tables import ORDERS
from tests.web.conftest import CONTENT
from tests.web.scene import Scene

TOKEN, ALERT_TOKEN, SECRET = "wl-read-5f1c", "wl-alert-77ab", "wl-signs-0c3e"


class Key(requests.auth.AuthBase):
    """What the sender of each address has: a token, or the secret that signs the body."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """As `requests` asks for it."""
        body = request.body or b""
        content = body.encode() if isinstance(body, str) else body
        if self._path.endswith("/pagerduty"):
            signature = hmac.new(SECRET.encode(), content, hashlib.sha256).hexdigest()
            request.headers["X-PagerDuty-Signature"] = f"v1={signature}"
        else:
            token = ALERT_TOKEN if self._path.startswith("/v1/alerts/") else TOKEN
            request.headers["Authorization"] = f"Bearer {token}"
        return request


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenApiSchema]:
    """Of a server whose table is under review, behind a token."""
    scene = Scene(Path(tmp_path_factory.mktemp("fuzz")))
    scene.opens().diagnoses().proposes()
    access = Access(WebSettings(), TOKEN)
    sightings = Sightings(scene.store.watched, scene.store.outbox, scene.incidents, scene.clock, {ORDERS: "C0ORDERS01"})
    desk = AlertDesk(sightings, scene.desk().setups, None)
    alerts = AlertRoutes(desk, token=ALERT_TOKEN, pagerduty_secret=SECRET)
    app = web_app(scene.desk(), Records(CONTENT), CONTENT, access, lambda _users: {}, alerts)
    with serving(app, "127.0.0.1", 0) as address:
        found = schemathesis.openapi.from_url(
            f"{address}/v1/openapi.json", headers={"Authorization": f"Bearer {TOKEN}"}
        )
        found.config.generation.with_security_parameters = False  # `Key` has them, and a signature is none to guess
        found.config.checks.negative_data_rejection.expected_statuses.append("413")  # a bad body may be too long first
        yield found
    scene.close()


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.function_scoped_fixture,
        HealthCheck.filter_too_much,  # bad requests are found by trying
    ],
)
@given(data=st.data())
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
def test_no_request_breaks_the_description(
    api: OpenApiSchema, mode: schemathesis.GenerationMode, data: st.DataObject
) -> None:
    """Status, content type, headers and body are those that the document promises; nothing answers 500, and what
    needs a token is told to nobody without one."""
    operation = data.draw(st.sampled_from([found.ok() for found in api.get_all_operations()]), label="operation")
    case = data.draw(operation.as_strategy(generation_mode=mode), label="request")

    case.call_and_validate(auth=Key(operation.path))

"""The API keeps its own description, whatever it is asked: Schemathesis makes the requests from `/v1/openapi.json`."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.schemas import OpenApiSchema

from bot.service.record import Records
from bot.settings import WebSettings
from bot.web.access import Access
from bot.web.app import web_app
from bot.web.server import serving
from tests.web.conftest import CONTENT
from tests.web.scene import Scene

TOKEN = "wl-read-5f1c"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenApiSchema]:
    """Of a server whose table is under review, behind a token."""
    scene = Scene(Path(tmp_path_factory.mktemp("fuzz")))
    scene.opens().diagnoses().proposes()
    access = Access(WebSettings(), TOKEN)
    app = web_app(scene.desk(), Records(CONTENT), CONTENT, access, lambda _users: {})
    with serving(app, "127.0.0.1", 0) as address:
        yield schemathesis.openapi.from_url(f"{address}/v1/openapi.json", headers={"Authorization": f"Bearer {TOKEN}"})
    scene.close()


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
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

    case.call_and_validate(headers={"Authorization": f"Bearer {TOKEN}"})

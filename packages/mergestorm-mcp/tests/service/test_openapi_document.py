"""The served document: complete, true to the models, and true to the answers (schemathesis)."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from mergestorm_mcp.service.accounts.keys import account_named
from mergestorm_mcp.service.assembly import build
from mergestorm_mcp.service.http.app import api_routes
from mergestorm_mcp.service.http.described import described_inputs, openapi_path
from mergestorm_mcp.service.http.document import document
from mergestorm_mcp.service.http.serving import running
from mergestorm_mcp.service.pace import Pace

from .conftest import OWNER, OWNER_KEY, LocalService, people

with warnings.catch_warnings():
    warnings.simplefilter("ignore", EncodingWarning)
    import schemathesis
    from schemathesis import Case, GenerationMode
    from schemathesis.core.result import Ok
    from schemathesis.specs.openapi.checks import positive_data_acceptance

INPUTS: Final = ("parameters", "requestBody", "security")
RULES_BEYOND_A_SCHEMA: Final = frozenset({
    ("POST", "/api/v1/stacks/publish"),
    ("GET", "/api/v1/stacks/publish"),
    ("POST", "/api/v1/stacks/pr-review/dismiss"),
    ("POST", "/api/v1/stacks/pulls"),
    ("GET", "/api/v1/repo-settings"),
    ("POST", "/api/v1/stacks/pull-claims"),
})
"""Where members depend on each other, or a text must be the name of a branch, so that a request may fit the schema and still be refused as invalid_input."""

SCHEMA: Final = schemathesis.openapi.from_dict(document())
# The key is sent with every request, and parameters that cannot be written into a query would be called accepted.
SCHEMA.config.generation.update(with_security_parameters=False, allow_extra_parameters=False)
# A body that is wrong and very long is refused for its length.
SCHEMA.config.checks.negative_data_rejection.expected_statuses.append("413")
OPERATIONS: Final[list[Any]] = [found.ok() for found in SCHEMA.get_all_operations() if isinstance(found, Ok)]
EXAMINED: Final = [
    pytest.param(operation, mode, id=f"{operation.label}-{mode.value}")
    for operation in OPERATIONS
    for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or operation.body or list(operation.query)
]


def test_every_route_is_described_and_nothing_else_is(service: LocalService) -> None:
    served = service.client(None).get("/openapi.json")
    assert served.json() == document()
    described = {
        (method.upper(), path) for path, operations in document()["paths"].items() for method in operations
    }
    assert described == {(route.method, openapi_path(route)) for route in api_routes()}


@pytest.mark.parametrize("route", api_routes(), ids=lambda route: f"{route.method} {route.path}")
def test_what_an_operation_takes_is_what_its_model_reads(route: Any) -> None:
    # To bring the document in line: uv run packages/mergestorm-mcp/openapi.py
    operation = document()["paths"][openapi_path(route)][route.method.lower()]
    assert {name: operation[name] for name in INPUTS if name in operation} == described_inputs(route)


@pytest.fixture(scope="module")
def furnished() -> Iterator[str]:
    """A service with a repository, labels, a pull request and an account that may do everything."""
    with ExitStack() as open_things:
        folder = open_things.enter_context(tempfile.TemporaryDirectory())
        world = build(Path(folder) / "data", Pace(scale=1000))
        open_things.callback(world.store.close)
        people(world)
        with world.store.write() as connection:
            repository = world.hub.create_repository(connection, "acme", "shop")
            world.hub.set_permission(connection, repository.id, OWNER, "admin")
            world.hub.install_app(connection, repository.id, "surge")
            world.hub.add_labels(connection, repository.id, ["bug"])
            assert account_named(connection, OWNER) is not None
            connection.execute("UPDATE accounts SET credits_limit = NULL")
        yield open_things.enter_context(running(world))


def is_called_invalid(response: Any) -> bool:
    """Whether the form of a request was refused, other than for a whole number written as `5.0`."""
    body = response.json()
    if response.status_code != 400 or body["error"] != "invalid_input":
        return False
    return any(field["problem"] != "int_type" for field in body.get("fields", [{"problem": ""}]))


def examine(operation: Any, mode: GenerationMode, url: str, examples: int) -> None:
    """Send requests that fit the document, or that do not, and hold every answer against it."""

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def one(case: Case[Any]) -> None:
        response = case.call(base_url=url, headers={"Authorization": f"Bearer {OWNER_KEY}"})
        # What fits may still name something that is not there; only `invalid_input` would be a contradiction.
        case.validate_response(response, excluded_checks=[positive_data_acceptance])
        if mode is GenerationMode.POSITIVE and (case.method, case.path) not in RULES_BEYOND_A_SCHEMA:
            assert not is_called_invalid(response), response.text

    one()


@pytest.mark.parametrize(("operation", "mode"), EXAMINED)
def test_answers_are_as_the_document_says(operation: Any, mode: GenerationMode, furnished: str) -> None:
    examine(operation, mode, furnished, 6)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("operation", "mode"), EXAMINED)
def test_answers_to_very_many_requests_are_as_the_document_says(
    operation: Any, mode: GenerationMode, furnished: str
) -> None:
    examine(operation, mode, furnished, 100)

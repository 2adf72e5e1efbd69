"""A generator of requests walks the whole API against a live server.

Every answer is one that the description names, and none is a fault of the server. Addresses get
ids of a rich world, so that requests reach further than "not found".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from accounts.api_access.tokens import issue_token
from accounts.models import Role
from tests import factories
from tests.integration.review.test_noninterference import ONE
from tests.marks import deep
from tests.worlds import two_worlds

pytestmark = pytest.mark.django_db(transaction=True)
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def find_values() -> dict[str, dict[str, Sequence[Any]]]:
    """Return values of the parameters of each address of the API."""
    found = {}
    for name, route, pattern in two_worlds.patterns():
        if name.partition(":")[0].endswith("_api"):
            path = "/api/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route)
            names = pattern.pattern.converters
            found[path] = {n: two_worlds._values(route, n) for n in names}
    return found


def walk(
    operation: Any,
    values: Mapping[str, Sequence[Any]],
    headers: Any,
    examples: int,
) -> Counter[int]:
    """Ask one operation, with good and with bad values; count the answers."""
    statuses: Counter[int] = Counter()
    with requests.Session() as session:
        for mode in GenerationMode:
            known = st.fixed_dictionaries({n: st.sampled_from(list(v)) for n, v in values.items()})

            @settings(
                max_examples=examples,
                derandomize=True,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode), ids=known)
            def ask(case: Case, ids: Mapping[str, Any]) -> None:
                case.path_parameters = {**(case.path_parameters or {}), **ids}
                response = case.call(headers=headers, session=session, timeout=60)
                statuses[response.status_code] += 1
                case.validate_response(response, checks=CHECKS)

            ask()
    return statuses


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("examples", "step"), [(1, 4), *deep((10, 1))])
def test_every_answer_is_as_described(live_server: Any, examples: int, step: int) -> None:
    """The admin asks every operation; others ask one in `step`."""
    world = two_worlds.build(ONE)
    study = world.packet.study
    people = [
        factories.make_user(study, Role.ADMIN),
        factories.make_user(study, Role.CLINICIAN),
        world.people["clinician"],  # who reviews a packet
        factories.make_user(study, Role.REVIEWER),
    ]
    seen: Counter[int] = Counter()
    values = find_values()
    for number, person in enumerate(people):
        _, token = issue_token(user=person, label="walk", by=None)
        headers = {"Authorization": f"Bearer {token}"}
        address = f"{live_server.url}/api/schema/?format=json"
        schema = schemathesis.openapi.from_url(address, headers=headers)
        for at, found in enumerate(schema.get_all_operations()):
            if number and at % step != number % step:
                continue
            operation = cast(Any, found).ok()
            seen += walk(operation, values[operation.path], headers, examples)
    assert seen[200] > 50, seen
    assert {400, 403, 404} <= set(seen), seen

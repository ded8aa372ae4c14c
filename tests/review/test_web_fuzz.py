"""The JSON API under generated requests, most of them wrong: no crash and no surprise."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.generation import GenerationMode

from psychemme.vocabulary import Format
from tests.support.review_web import ADDRESS, Browser, browser, make_site
from tests.support.reviews import CANARY

CHECKED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
)
TOO_LONG = 413
OPERATIONS = ("answer", "draft", "queue", "skip", "vote", "withdraw")


CASES = [
    (name, mode)
    for name in OPERATIONS
    for mode in GenerationMode
    if (name, mode) != ("queue", GenerationMode.NEGATIVE)  # takes nothing that could be wrong
]


@pytest.fixture(scope="module")
def ada(tmp_path_factory) -> Browser:
    forms = (Format.SINGLE, Format.MULTIPLE, Format.OPEN)
    there = browser(make_site(tmp_path_factory.mktemp("fuzz") / "w", forms), "ada")
    assert there.answer("1-c0/1").status_code == 200
    return there


@pytest.fixture(scope="module")
def operations(ada):
    load_all_checks()
    schema = schemathesis.openapi.from_dict(ada.app.openapi())
    schema.app = ada.app
    found = [one.ok() for one in schema.get_all_operations()]
    return {one.path.rsplit("/")[-1]: one for one in found}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mode"), CASES)
def test_the_api_keeps_its_own_contract(ada, operations, name, mode):
    checks = CHECKS.get_by_names(list(CHECKED))
    assert tuple(sorted(operations)) == OPERATIONS
    statuses = set()

    @seed(7)
    @settings(
        max_examples=20, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(case=operations[name].as_strategy(generation_mode=mode))
    def check(case):
        if mode is GenerationMode.POSITIVE and case.path_parameters:
            key = "1-c2" if name == "answer" else "1-c0"
            case.path_parameters = {"key": key, "version": 1}
        response = case.call(
            base_url=ADDRESS, headers={"x-csrf-token": ada.csrf}, cookies=dict(ada.cookies)
        )
        if response.status_code != TOO_LONG:  # a refusal that the checks do not know
            case.validate_response(response, checks=checks)
        statuses.add(response.status_code)
        assert CANARY not in response.text

    check()
    if mode is GenerationMode.POSITIVE:
        assert statuses & {200, 400, 409}  # of a page that is out of date
    else:
        assert statuses <= {400, 404, TOO_LONG, 422}

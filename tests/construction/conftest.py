"""The Shared State of these tests on either engine."""

from tests.support.postgres import address  # noqa: F401

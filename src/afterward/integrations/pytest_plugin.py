"""`pytest --afterward`: a failing test's report says what became of its graphs.

The plugin loads nothing of afterward until it is asked for, and never torch: the tests do that, or not.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from afterward.tasks.testing import TestWatch

MARKER = (
    "afterward(*codes): under --afterward, fail the test if it has a finding of one of these codes, such as AFT301 "
    "(graphs kept in memory), AFT302 (memory grows) or AFT303 (retain_graph for nothing); without codes, of any"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("afterward", "what becomes of autograd graphs")
    group.addoption("--afterward", action="store_true", help="explain backward passes that fail, in the test's report")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Fixtures live in a conftest: its statements are marked too, so the watch begins before the first is loaded."""
    if early_config.known_args_namespace.afterward:
        from afterward.tasks.testing import TestWatch

        watch = TestWatch()
        watch.begin(early_config)
        early_config.add_cleanup(watch.end)
        early_config.pluginmanager.register(Explaining(watch), "afterward-explaining")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


class Explaining:
    """Watches each test, and adds to the report of one that fails."""

    def __init__(self, watch: TestWatch) -> None:
        self.watch = watch

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        self.watch.test_begins()
        outcome = yield
        marker = item.get_closest_marker("afterward")
        if outcome.excinfo is not None:
            self.watch.test_failed(outcome.excinfo[1])
        elif marker is not None:
            found = self.watch.silent(tuple(str(code) for code in marker.args))
            if found:
                outcome.force_exception(pytest.fail.Exception(_explained(found), pytrace=False))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        outcome = yield
        report: pytest.TestReport = outcome.get_result()
        error = call.excinfo.value if call.excinfo is not None else None
        found = self.watch.findings_of(error) if report.failed and error is not None else []
        if found:
            report.sections.append(("afterward", _explained(found)))


def _explained(found: list[Any]) -> str:
    from afterward.render.text import as_text

    return "\n".join(as_text(one) for one in found)

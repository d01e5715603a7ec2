"""The first test that needs helm may have to build it, which takes minutes."""

from pathlib import Path

import pytest

from lab.packages import go

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if (
            item.path.parent == HERE
            and item.path.name.startswith("test_chart")
            and not item.get_closest_marker("timeout")
        ):
            item.add_marker(pytest.mark.timeout(go.BUILD_SECONDS + 300))

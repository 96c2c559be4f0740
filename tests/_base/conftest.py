"""Results of every class, made once."""

import pytest

from psychollm._base.result import Result
from tests._base.every_result import every_result


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Result]]:
    with pytest.MonkeyPatch.context() as patch:
        return every_result(tmp_path_factory.mktemp("examples"), patch)

"""A cluster of two processes on this machine, as Dask starts one anywhere else."""

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def two_workers() -> Iterator[Any]:
    """Return the client of two workers with a thread each."""
    distributed = pytest.importorskip("distributed")
    local = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        memory_limit="1GiB",
        dashboard_address=":0",
    )
    with local, distributed.Client(local) as client:
        yield client


@pytest.fixture
def cluster(two_workers: Any) -> Any:
    """Return the client once both workers are there: a test may have killed some."""
    two_workers.wait_for_workers(2, timeout=120)
    return two_workers

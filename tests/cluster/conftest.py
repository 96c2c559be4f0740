"""A cluster of two processes on this machine, as Dask starts one anywhere else."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest


@pytest.fixture(scope="session")
def clusters() -> Iterator[tuple[ExitStack, list[Any]]]:
    """Yield what closes clusters, and the clients of those that were started."""
    with ExitStack() as stack:
        yield stack, []


@pytest.fixture
def cluster(clusters: tuple[ExitStack, list[Any]]) -> Any:
    """Return the client once both workers are there: a test may have killed some."""
    stack, clients = clusters
    distributed = pytest.importorskip("distributed")
    if clients:
        # Dask does not always bring a killed worker back; then there is another cluster.
        with suppress(TimeoutError):
            clients[-1].wait_for_workers(2, timeout=10)
            return clients[-1]
    local = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        memory_limit="1GiB",
        dashboard_address=":0",
    )
    clients.append(stack.enter_context(distributed.Client(stack.enter_context(local))))
    clients[-1].wait_for_workers(2, timeout=120)
    return clients[-1]

"""Keeping what comes back: replies that arrive together are committed together."""

import asyncio

from psychollm.collect.records import Attempt, Job
from psychollm.collect.store import Store


class Recorder:
    """Records the exchanges of all lanes of a run; whoever hands one in waits until it is kept."""

    # A transaction costs as much as what it writes: ten replies in one take a third of the time of
    # ten. Nothing is held back for company; what arrived in one turn of the loop is all there is.

    def __init__(self, store: Store) -> None:
        self._store = store
        self._arrived: list[tuple[tuple[Job, Attempt, bool], asyncio.Future[int]]] = []

    async def record(self, job: Job, attempt: Attempt, *, last: bool = False) -> int:
        """Keep one exchange as `Store.record` does; return when it is committed."""
        loop = asyncio.get_running_loop()
        if not self._arrived:
            loop.call_soon(self._commit)
        kept: asyncio.Future[int] = loop.create_future()
        self._arrived.append(((job, attempt, last), kept))
        # Who waits may be cancelled; what it handed in is committed all the same.
        return await kept

    def _commit(self) -> None:
        arrived, self._arrived = self._arrived, []
        try:
            opened = self._store.record_all([exchange for exchange, _ in arrived])
        except Exception as error:  # noqa: BLE001 -- handed to those who wait
            if len(arrived) == 1:
                _tell(arrived[0][1], error)
                return
            # One that cannot be kept takes none of the others with it.
            for one in arrived:
                self._arrived = [one]
                self._commit()
            return
        for (_, kept), n in zip(arrived, opened, strict=True):
            _tell(kept, n)


def _tell(kept: "asyncio.Future[int]", told: int | Exception) -> None:
    if kept.done():  # nobody waits for it any more
        return
    if isinstance(told, Exception):
        kept.set_exception(told)
    else:
        kept.set_result(told)

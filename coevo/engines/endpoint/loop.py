"""An event loop in a thread of its own, so that requests go on while their caller does something else."""

import asyncio
import concurrent.futures
from collections.abc import Callable, Coroutine
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """Runs coroutines until it is closed. Its thread does not keep the interpreter alive."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="coevo-endpoint", daemon=True)
        self._thread.start()

    @property
    def is_closed(self) -> bool:
        """Whether it runs nothing any more."""
        return self._loop.is_closed()

    def start(self, coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine; the future's `cancel` breaks it off.

        Raises:
            RuntimeError: If the loop is closed.
        """
        if self._loop.is_closed():
            coroutine.close()
            raise RuntimeError("the engine is closed")
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and wait for its result; an interrupt breaks it off."""
        future = self.start(coroutine)
        try:
            return future.result()
        finally:
            future.cancel()

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Break off what runs, run `last`, and end the thread; safe to call twice."""
        if self._loop.is_closed():
            return
        self.run(_break_off_all())
        self.run(last())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _break_off_all() -> None:
    """Cancel every other task and wait until each has cleaned up."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()

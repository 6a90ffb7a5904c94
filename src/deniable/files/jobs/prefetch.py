"""Prefetching of an iterator's items in a separate thread while earlier items are being used.

Decoding, compiled loops, keystreams, hashes and compression all let other threads run, so reader, worker and writer
share the cores. Items come in their order, and errors come where they would have come. Code that leaves early waits
until the thread has ended. So nothing is read from a closed file, and no work continues.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Iterator
from types import TracebackType
from typing import Generic, TypeVar

Item = TypeVar("Item")

DEPTH = 2
"""Most items that wait, besides the item that is being made. This bounds the memory."""


class Prefetcher(Generic[Item]):
    """Context manager that is an iterator over the same items.

    Parameters
    ----------
    items : generator
        Generator that only the thread uses and closes.

    Examples
    --------
    >>> with Prefetcher(letter for letter in "abc") as items:
    ...     print(*items)
    a b c
    """

    def __init__(self, items: Generator[Item, None, None]) -> None:
        self._items = items
        self._ready: deque[Item] = deque()
        self._change = threading.Condition()
        self._ended = self._left = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="deniable ahead", daemon=True)

    def _work(self) -> None:
        try:
            for item in self._items:
                with self._change:
                    self._ready.append(item)
                    self._change.notify_all()
                    self._change.wait_for(lambda: self._left or len(self._ready) < DEPTH)
                    if self._left:
                        break
        except BaseException as error:  # the waiting thread raises it again
            self._error = error
        finally:
            self._items.close()
            with self._change:
                self._ended = True
                self._change.notify_all()

    def __enter__(self) -> Iterator[Item]:
        self._thread.start()
        return self._taken()

    def _taken(self) -> Iterator[Item]:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._ready or self._ended)
                if not self._ready:
                    break
                item = self._ready.popleft()
                self._change.notify_all()
            yield item
        if self._error is not None:
            raise self._error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._change:
            self._left = True
            self._change.notify_all()
        self._thread.join()

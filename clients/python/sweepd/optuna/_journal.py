"""A log that the daemon keeps, and that all processes of this user share: journal.append and journal.read."""
import functools
import json
import os
import uuid
from typing import Iterator, List

from .. import _daemon
from .._client import Client
from .._errors import SweepdError

MOST_BYTES = 900_000  # of an entry: a message has at most a MiB


@functools.lru_cache(maxsize=None)
def _client(pid: int, socket: str) -> Client:
    """Of a process: a forked child must not speak on its parent's connection."""
    return Client()


class Journal:
    """Texts in the order in which they were appended, by any process."""

    def __init__(self, name: str) -> None:
        self.name, self._socket = name, _daemon.default_socket()
        self._known = 0  # entries that were read

    def client(self) -> Client:
        return _client(os.getpid(), self._socket)

    def read(self, after: int) -> List[str]:
        """All entries after the first `after`."""
        entries = list(self._entries(after))
        self._known = after + len(entries)
        return [entry.partition(" ")[2] for entry in entries]

    def append(self, text: str) -> None:
        """Returns once it is stored."""
        # The mark tells whether an append was stored whose answer was lost with the connection.
        entry = f"{uuid.uuid4().hex[:16]} {text}"
        if len(json.dumps(entry)) > MOST_BYTES:
            raise SweepdError(f"{len(text)} bytes for the journal {self.name!r}, at most {MOST_BYTES} go in one entry: "
                              "keep large values in a file, and its path in the attribute")
        while True:
            try:
                self.client().call("journal.append", journal=self.name, entries=[entry])
                return
            except SweepdError as error:
                if error.code != 0:
                    raise
            if entry in self._entries(self._known):  # the connection broke before the answer came
                return

    def delete(self) -> None:
        """With all its entries."""
        self.client().call("journal.delete", journal=self.name)

    def _entries(self, after: int) -> Iterator[str]:
        more = True
        while more:
            page = self.client().call("journal.read", journal=self.name, after=after)
            yield from page["entries"]
            after, more = after + len(page["entries"]), page["more"]

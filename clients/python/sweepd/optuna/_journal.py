"""A log that the daemon keeps, and that all processes of this user share: journal.append and journal.read."""
import json
import os
import threading
import uuid
from typing import Dict, Iterator, List, Tuple

from .. import _daemon
from .._client import Client
from .._errors import SweepdError

MOST_BYTES = 900_000  # of an entry: a message has at most a MiB
_clients: Dict[Tuple[int, str], Client] = {}
_lock = threading.Lock()


class Journal:
    """Texts in the order in which they were appended, by any process."""

    def __init__(self, name: str) -> None:
        self.name, self._socket = name, _daemon.default_socket()
        self._known = 0  # entries that were read

    def client(self) -> Client:
        """This process's own: a forked child must not speak on its parent's connection."""
        key = os.getpid(), self._socket
        with _lock:
            if key not in _clients:
                _clients[key] = Client()
            return _clients[key]

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

    def _entries(self, after: int) -> Iterator[str]:
        more = True
        while more:
            page = self.client().call("journal.read", journal=self.name, after=after)
            yield from page["entries"]
            after, more = after + len(page["entries"]), page["more"]

"""One connection to the daemon: JSON-RPC 2.0, one message a line."""
from __future__ import annotations

import json
import os
import socket
import struct
from typing import Any, Dict, List

from ._errors import SweepdError


class Connection:
    """Not for several threads at once. OSError and EOFError mean that it is broken."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._buffer = b""
        self._id = 0
        self.notes: List[Dict[str, Any]] = []
        try:
            self._socket.connect(path)
            uid = struct.unpack("3i", self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
            if uid not in (os.geteuid(), 0):
                raise SweepdError(f"another user (uid {uid}) listens at {path}: nothing was sent")
        except BaseException:
            self._socket.close()
            raise

    def close(self) -> None:
        self._socket.close()

    def call(self, method: str, params: Dict[str, Any]) -> Any:
        self._id += 1
        request = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        self._socket.sendall(json.dumps(request, allow_nan=False).encode() + b"\n")
        while True:
            reply = self.read()
            if "method" in reply:
                self.notes.append(reply["params"])
            elif "error" in reply:
                error = reply["error"]
                raise SweepdError(error["message"], error["code"], (error.get("data") or {}).get("pointer", ""))
            else:
                return reply["result"]

    def note(self) -> Dict[str, Any]:
        """The params of the next notification."""
        return self.notes.pop(0) if self.notes else self.read()["params"]

    def read(self) -> Any:
        while b"\n" not in self._buffer:
            chunk = self._socket.recv(1 << 16)
            if not chunk:
                raise EOFError("the daemon closed the connection")
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line.decode())

"""One connection to the daemon: JSON-RPC 2.0, one message a line."""
import json
import os
import socket
import struct
import subprocess
import tempfile
from typing import Any, Dict, Mapping, Optional, Tuple

from ._errors import SweepdError

LINE_MAX = 32 << 20  # a daemon's answer has at most 16 MiB


class Connection:
    """Not for several threads at once. OSError and EOFError mean that it is broken."""

    def __init__(self, path: str, host: Optional[str] = None) -> None:
        self._socket, self._path = socket.socket(socket.AF_UNIX), path
        self._buffer = b""
        self._id = 0
        self._ssh: Optional["subprocess.Popen[bytes]"] = None
        try:
            if host:
                self._dial(host)
                return
            self._socket.connect(path)
            uid = struct.unpack("3i", self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
            if uid not in (os.geteuid(), 0):
                raise SweepdError(f"another user (uid {uid}) listens at {path}: nothing was sent")
        except BaseException:
            self.close()
            raise

    def _dial(self, host: str) -> None:
        """As `sweep --host` has it (cli/host.c). ConnectionError says in one line why it failed."""
        if not host.isprintable() or host.startswith("-") or " " in host:
            raise SweepdError(f"host={host!r} is no host for ssh")
        self._socket.close()
        self._socket, theirs = socket.socketpair()
        self._said = tempfile.TemporaryFile()  # no pipe: nobody reads what ssh says while all is well
        with theirs:
            self._ssh = subprocess.Popen(
                ["ssh", "-T", "-oClearAllForwardings=yes", "-oRemoteCommand=none", "-oServerAliveInterval=20", "--",
                 host, "sweep", "dial"], stdin=theirs, stdout=theirs, stderr=self._said)
        self._socket.settimeout(180)  # somebody may be typing a password
        try:
            self.call("daemon.info", {})
        except (OSError, EOFError) as error:
            self._socket.close()
            why, number = self._end_ssh()
            raise ConnectionError(f"{host}: " + (f"its shell finds no `sweep` ({why})" if number == 127 else
                                                 why or str(error))) from error
        self._socket.settimeout(None)

    def _end_ssh(self) -> Tuple[str, int]:
        """The last line that it wrote, and its status. Its stdin has ended."""
        assert self._ssh
        try:
            number = self._ssh.wait(5)
        except subprocess.TimeoutExpired:
            self._ssh.kill()
            number = self._ssh.wait()
        with self._said as said:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines()
        self._ssh = None
        return (lines[-1] if lines else ""), number

    def close(self) -> None:
        self._socket.close()
        if self._ssh:
            self._end_ssh()

    def call(self, method: str, params: Mapping[str, Any]) -> Any:
        """The result. SweepdError: what the daemon refuses; with code 0, what comes is no answer of a daemon's."""
        return self.receive(self.send(method, params))

    def send(self, method: str, params: Mapping[str, Any]) -> int:
        """Sends a request; gives its id. Answers come in the order of the requests."""
        self._id += 1
        request = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        self._socket.sendall(json.dumps(request, allow_nan=False).encode() + b"\n")
        return self._id

    def receive(self, number: int) -> Any:
        """The result of the request with this id."""
        reply = self._read()
        error = reply.get("error")
        if reply.get("id") == number and isinstance(reply.get("result"), dict):
            return reply["result"]
        if reply.get("id") in (number, None) and isinstance(error, dict) and isinstance(error.get("code"), int):
            data = error["data"] if isinstance(error.get("data"), dict) else {}
            raise SweepdError(str(error.get("message")), error["code"], data.get("pointer", ""),
                              data.get("faults", ()), data.get("more", 0))
        raise self._odd(reply)

    def _read(self) -> Dict[str, Any]:
        while b"\n" not in self._buffer:
            chunk = self._socket.recv(1 << 16)
            if not chunk:
                raise EOFError("the daemon closed the connection")
            self._buffer += chunk
            if len(self._buffer) > LINE_MAX:
                raise self._odd(self._buffer)
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            message = json.loads(line.decode())
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            raise self._odd(line)
        return message

    def _odd(self, what: Any) -> SweepdError:
        return SweepdError(f"what listens at {self._path} does not answer as sweepd does: {str(what)[:100]}")

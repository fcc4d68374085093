"""The HTTP server: one loopback port for both planes and for the controls."""

from __future__ import annotations

import socket
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import TYPE_CHECKING, Any

from memkit.testing.agentcore.log import LoggedRequest
from memkit.testing.agentcore.replies import Reply, html_reply

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST_BODY = 10 * 1024 * 1024
LARGEST_DRAINED = 100 * 1024 * 1024
CHUNK = 64 * 1024
TRICKLED = 16
JOIN_SECONDS = 5.0
POLL_SECONDS = 0.01


class Handler(BaseHTTPRequestHandler):
    """Reads requests of one connection and writes their replies."""

    protocol_version = "HTTP/1.1"
    server_version = "agentcore-emulator"
    sys_version = ""
    # Answers are small and complete; waiting to fill packets would cost 40 ms each.
    disable_nagle_algorithm = True
    server: Server

    def handle(self) -> None:
        """Serve until either side closes."""
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True

    def do_any(self) -> None:
        """Answer one request."""
        body = self._read_body()
        if body is None:
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = LoggedRequest(
            method=self.command, target=self.path, headers=headers, body=body, at=0
        )
        self._send(self.server.answer(request))

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_any  # noqa: N815 - http.server's names

    def log_message(self, *_: object) -> None:
        """Stay quiet: requests are in the log of the emulator."""

    def _read_body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            self._refuse(html_reply(HTTPStatus.LENGTH_REQUIRED, "Length Required"))
            return None
        if len(length) > len(str(LARGEST_DRAINED)) or int(length) > LARGEST_BODY:
            self._drain(int(length[:12]))
            self._refuse(html_reply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Request Too Large"))
            return None
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True
            return None
        return body

    def _drain(self, length: int) -> None:
        # A client that still sends would see a reset connection and not the refusal.
        left = min(length, LARGEST_DRAINED)
        while left > 0 and (chunk := self.rfile.read(min(left, CHUNK))):
            left -= len(chunk)

    def _refuse(self, reply: Reply) -> None:
        self.close_connection = True
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        if reply.delay:
            self.server.stopping.wait(reply.delay)
        if reply.dropped:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        head = self._head(reply)
        if reply.trickle:
            self._trickle(head + reply.body, reply.trickle)
        else:
            self.wfile.write(head + reply.body)

    def _head(self, reply: Reply) -> bytes:
        status = f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}"
        headers = {
            "Content-Type": reply.content_type,
            "Content-Length": str(len(reply.body)),
            "x-amzn-RequestId": self.server.next_request_id(),
            **reply.headers,
        }
        if self.close_connection:
            headers["Connection"] = "close"
        lines = [status, *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        return "\r\n".join(lines).encode("latin-1")

    def _trickle(self, sent: bytes, pause: float) -> None:
        for start in range(0, len(sent), TRICKLED):
            self.wfile.write(sent[start : start + TRICKLED])
            if self.server.stopping.wait(pause):
                return


class Server(ThreadingHTTPServer):
    """Knows its open connections and threads, so that stopping leaves nothing behind."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, answer: Callable[[LoggedRequest], Reply]) -> None:
        self.answer = answer
        self.stopping = threading.Event()
        self._guard = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._workers: set[threading.Thread] = set()
        self._request_ids = 0
        super().__init__((host, port), Handler)
        self._loop = threading.Thread(target=self._serve, name="agentcore-emulator", daemon=True)

    @property
    def url(self) -> str:
        """The address that clients use."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def server_bind(self) -> None:
        """Bind without asking the name server for this machine's name."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", self.server_address[1]

    def start(self) -> None:
        """Serve in a thread of its own."""
        self._loop.start()

    def stop(self) -> None:
        """Close every connection and wait for every thread; twice is fine."""
        if self.stopping.is_set():
            return
        self.stopping.set()
        if self._loop.is_alive():
            self.shutdown()
        self.server_close()
        with self._guard:
            connections, threads = list(self._connections), list(self._workers)
        for connection in connections:
            _hang_up(connection)
        for thread in [*threads, self._loop]:
            if thread.is_alive():
                thread.join(JOIN_SECONDS)

    def next_request_id(self) -> str:
        """Return the id of a reply."""
        with self._guard:
            self._request_ids += 1
            return f"00000000-0000-4000-8000-{self._request_ids:012d}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread that is known."""
        target = self.process_request_thread
        thread = threading.Thread(target=target, args=(request, client_address), daemon=True)
        with self._guard:
            self._connections.add(request)
            self._workers.add(thread)
        thread.start()

    def shutdown_request(self, request: Any) -> None:
        """Close a connection and forget it and its thread."""
        super().shutdown_request(request)
        with self._guard:
            self._connections.discard(request)
            self._workers.discard(threading.current_thread())

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that go away in the middle of something."""

    def _serve(self) -> None:
        self.serve_forever(poll_interval=POLL_SECONDS)


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return

"""The web process: a thread is busy only with a request that has arrived.

gunicorn's own worker gives each connection a thread that waits for the rest of its request, so
that a few half-sent requests stop all answers. Here the main thread collects the bytes first. A
proxy that buffers does the same and more (docker/proxy/nginx.conf); this is for servers without
one, and for what a proxy lets through.
"""

from __future__ import annotations

import socket
import time
from concurrent.futures import Future
from functools import partial
from selectors import EVENT_READ
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

from config.web.arrival import Arrival
from config.web.connection import Connection

#: A request that has not arrived after this long is dropped.
ARRIVAL_SECONDS = 30.0
#: So many requests may be on their way, with so many bytes in all; the oldest are dropped.
MOST_WAITING, MOST_BYTES = 256, 1 << 26
PIECE = 1 << 16


class BufferingWorker(ThreadWorker):
    """Collects requests in the main thread, and answers them in threads."""

    def accept(self, listener: socket.socket) -> None:
        """Take a connection, and wait for its first request."""
        try:
            client, address = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        self.nr_conns += 1
        self._wait(Connection(self.cfg, client, address, listener.getsockname()))

    def on_client_socket_readable(self, conn: Connection, client: socket.socket) -> None:
        """Collect the next request of a connection that was kept alive."""
        self.poller.unregister(client)
        self.keepalived_conns.remove(conn)
        self._wait(conn)

    def on_pending_socket_readable(self, conn: Connection, client: socket.socket) -> None:
        """Collect what has arrived; answer once it is a request."""
        if conn not in self.pending_conns:  # dropped by an event of the same instant
            return
        try:
            piece = client.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece or not conn.take(piece):
            self._drop(conn)
        elif conn.left is None and conn.arrival.whole:
            self._stop_waiting(conn)
            super().enqueue_req(conn)
        else:
            self._make_room()

    def enqueue_req(self, conn: Connection) -> None:
        """Collect the rest of a request that came with the one before."""
        rest = conn.parser.unreader.take_buffered()
        conn.sock.setblocking(False)
        self._wait(conn, rest)
        if conn.arrival.whole:
            self._stop_waiting(conn)
            super().enqueue_req(conn)

    def handle(self, conn: Connection) -> Any:
        """Answer what was collected. Runs in a thread."""
        conn.init()
        conn.data_ready = True
        conn.parser.unreader.unread(bytes(conn.arrival.data))
        return super().handle(conn)

    def _keepalive_after(self, conn: Connection, keepalive: bool) -> bool:
        """Return True if the connection may be used again.

        A body that did not arrive first may never end.
        """
        return not conn.arrival.streamed and bool(super()._keepalive_after(conn, keepalive))

    def finish_request(self, conn: Connection, answered: Future[Any]) -> None:
        """Keep the connection alive, or let the client close it.

        gunicorn would wait for that in the main thread, which takes all connections.
        """
        if not answered.cancelled() and answered.exception() is None and answered.result():
            super().finish_request(conn, answered)
            return
        if conn.say_end():
            self._wait(conn)
        else:
            self.nr_conns -= 1
            conn.close()

    def _cap_keepalive(self, deadline: float) -> None:
        """Let a stopping process wait for half-sent requests no longer."""
        super()._cap_keepalive(deadline)
        for conn in self.pending_conns:
            conn.timeout = min(conn.timeout, deadline)

    def _wait(self, conn: Connection, rest: bytes = b"") -> None:
        conn.arrival = Arrival()
        conn.arrival.add(rest)
        conn.timeout = time.monotonic() + ARRIVAL_SECONDS
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, EVENT_READ, partial(self.on_pending_socket_readable, conn))
        self._make_room()

    def _stop_waiting(self, conn: Connection) -> None:
        self.poller.unregister(conn.sock)
        self.pending_conns.remove(conn)

    def _drop(self, conn: Connection) -> None:
        self._stop_waiting(conn)
        self.nr_conns -= 1
        conn.close()

    def _make_room(self) -> None:
        """Drop the oldest if too many wait: requests arrive in an instant."""
        while len(self.pending_conns) > MOST_WAITING or self._count_bytes() > MOST_BYTES:
            self._drop(self.pending_conns[0])

    def _count_bytes(self) -> int:
        return sum(len(conn.arrival.data) for conn in self.pending_conns)

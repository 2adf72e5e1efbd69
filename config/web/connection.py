"""A connection of the web process, with what has arrived of its request."""

from __future__ import annotations

import socket
import struct
from typing import Any

from gunicorn.workers.gthread import TConn

from config.web.arrival import Arrival

#: A client that neither sends the rest of a large body nor reads its answer loses its thread.
STALLED_SECONDS = 15
#: What a client still sends after its last answer is read and dropped, up to this.
MOST_LEFT = 1 << 20


class Connection(TConn):
    """Collects the bytes of the next request.

    `left` counts those that come after the last answer; None before it.
    """

    arrival: Arrival
    left: int | None = None

    def __init__(self, cfg: Any, sock: socket.socket, client: Any, server: Any) -> None:
        super().__init__(cfg, sock, client, server)
        limit = struct.pack("ll", STALLED_SECONDS, 0)
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            sock.setsockopt(socket.SOL_SOCKET, option, limit)

    def take(self, piece: bytes) -> bool:
        """Take bytes; return False if the connection shall be closed.

        A head may ask for a reply at once.
        """
        if self.left is not None:
            self.left += len(piece)
            return self.left <= MOST_LEFT
        self.arrival.add(piece)
        reply, self.arrival.reply = self.arrival.reply, b""
        try:
            if reply:
                self.sock.send(reply)
        except OSError:
            return False
        return not self.arrival.refused or self.say_end()

    def say_end(self) -> bool:
        """Send nothing more; return False if the client is gone.

        Closing at once could lose the answer if the client still sends.
        """
        try:
            self.sock.shutdown(socket.SHUT_WR)
            self.sock.setblocking(False)
        except OSError:
            return False
        self.left = 0
        return True

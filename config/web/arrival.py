"""Decide from the bytes of a connection whether a request has arrived."""

from __future__ import annotations

from dataclasses import dataclass, field

HEAD_END = b"\r\n\r\n"
#: gunicorn refuses longer heads by itself.
LONGEST_HEAD = 1 << 20
#: Larger bodies are read while they are answered. This is the most that Django reads into memory
#: (DATA_UPLOAD_MAX_MEMORY_SIZE): forms and JSON always arrive whole.
LARGEST_BODY = 2_621_440
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
#: A body without a length cannot be awaited, and Django would read it as empty.
NO_LENGTH = (
    b"HTTP/1.1 411 Length Required\r\nContent-Length: 0\r\nCache-Control: no-store\r\n"
    b"Connection: close\r\n\r\n"
)


@dataclass
class Arrival:
    """The bytes of a request so far.

    `length` is known once the head has arrived: that of the bytes to wait for.
    """

    data: bytearray = field(default_factory=bytearray)
    length: int | None = None
    #: The body is too large to wait for.
    streamed: bool = False
    #: What to send to the client now, once; `refused`: and then nothing more.
    reply: bytes = b""
    refused: bool = False

    def add(self, piece: bytes) -> None:
        """Take more bytes."""
        start = max(0, len(self.data) - len(HEAD_END))
        self.data += piece
        if self.length is None and (end := self.data.find(HEAD_END, start)) >= 0:
            self._read_head(bytes(self.data[:end]), end + len(HEAD_END))

    @property
    def whole(self) -> bool:
        """True if a thread can answer without waiting for the client."""
        if self.length is None:
            return len(self.data) > LONGEST_HEAD
        return len(self.data) >= self.length

    def _read_head(self, head: bytes, size: int) -> None:
        """Find the length of the body. gunicorn checks the head again."""
        lines = (line.partition(b":") for line in head.split(b"\r\n")[1:])
        fields = {name.lower(): value.strip().lower() for name, _, value in lines}
        if b"transfer-encoding" in fields:
            self.reply, self.refused = NO_LENGTH, True
        stated = fields.get(b"content-length", b"0")
        body = int(stated) if stated.isdigit() and len(stated) < 20 else 0
        self.streamed = body > LARGEST_BODY
        self.length = size if self.streamed else size + body
        if fields.get(b"expect") == b"100-continue" and not self.whole:
            self.reply = CONTINUE

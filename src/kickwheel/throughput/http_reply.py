"""The bytes of an HTTP/1.1 reply as they come in: when is it whole, and which pieces of its body came when.

As little as possible is done while a step runs: framing is followed, nothing is decoded. What the pieces say is read
afterwards (:mod:`kickwheel.throughput.reply_stream`).
"""

from __future__ import annotations

HEAD, SIZED, CHUNKED, UNTIL_CLOSED, DONE = range(5)


class BadReply(ValueError):
    """Bytes that are no HTTP/1.1 reply."""


class HttpReply:
    """Feed it what arrives; ``done`` says when the reply is whole.

    Attributes:
        status: HTTP status; 0 until the head is there.
        pieces: (time, bytes of the body) in the order of their arrival.
        keep_alive: whether the connection may carry another request after this reply.
    """

    __slots__ = ("_buffer", "_left", "_state", "keep_alive", "pieces", "status")

    def __init__(self) -> None:
        self.status = 0
        self.pieces: list[tuple[float, bytes]] = []
        self.keep_alive = True
        self._state = HEAD
        self._buffer = b""
        self._left = 0

    @property
    def done(self) -> bool:
        """Whether everything is there."""
        return self._state == DONE

    @property
    def begun(self) -> bool:
        """Whether any byte has come."""
        return self._state != HEAD or bool(self._buffer)

    def feed(self, data: bytes, now: float) -> None:
        """Take what arrived at ``now``.

        Raises:
            BadReply: it is no HTTP.
        """
        if self._buffer:
            data = self._buffer + data
            self._buffer = b""
        if self._state == HEAD:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                if len(data) > 65_536:
                    raise BadReply("a head of more than 64 KiB")
                self._buffer = data
                return
            self._read_head(data[:end])
            data = data[end + 4 :]
        if self._state == CHUNKED:
            self._read_chunks(data, now)
        elif self._state == SIZED:
            self._read_sized(data, now)
        elif self._state == UNTIL_CLOSED and data:
            self.pieces.append((now, data))

    def closed(self) -> None:
        """The server closed the connection: the end of a reply that has no other end."""
        if self._state == UNTIL_CLOSED:
            self._state = DONE

    def _read_head(self, head: bytes) -> None:
        first, _, rest = head.partition(b"\r\n")
        words = first.split(b" ", 2)
        if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
            raise BadReply(f"not an HTTP/1.1 reply: {first[:80]!r}")
        self.status = int(words[1])
        length, chunked = -1, False
        self.keep_alive = words[0] != b"HTTP/1.0"
        for line in rest.split(b"\r\n"):
            name, _, value = line.partition(b":")
            name, value = name.strip().lower(), value.strip().lower()
            if name == b"content-length":
                if not value.isdigit():
                    raise BadReply(f"content-length {value[:40]!r}")
                length = int(value)
            elif name == b"transfer-encoding":
                chunked = b"chunked" in value
            elif name == b"connection":
                self.keep_alive = value != b"close"
        if chunked:
            self._state = CHUNKED
        elif length >= 0:
            self._state, self._left = (SIZED, length) if length else (DONE, 0)
        else:
            self._state, self.keep_alive = UNTIL_CLOSED, False

    def _read_sized(self, data: bytes, now: float) -> None:
        if data:
            self.pieces.append((now, data[: self._left]))
            self._left -= len(data)
        if self._left <= 0:
            self._state = DONE

    def _read_chunks(self, data: bytes, now: float) -> None:
        position, end = 0, len(data)
        while position < end:
            line = data.find(b"\r\n", position)
            if line < 0:
                break
            try:
                size = int(data[position:line].partition(b";")[0], 16)
            except ValueError:
                raise BadReply(f"chunk size {data[position:line][:40]!r}") from None
            begin = line + 2
            if begin + size + 2 > end:
                break
            if size == 0:
                self._state = DONE  # trailers are not used by anybody here
                return
            self.pieces.append((now, data[begin : begin + size]))
            position = begin + size + 2
        self._buffer = data[position:]

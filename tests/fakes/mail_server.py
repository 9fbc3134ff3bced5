"""A minimal mail server on this machine; stores the mails that it receives."""

import socketserver
import ssl
import threading
from collections.abc import Callable
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

DEADLINE_SECONDS = 60.0


class MailServer:
    """Accepts mails; the first `busy` of them are refused temporarily (451)."""

    def __init__(self, busy: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.busy = busy
        self.tls = tls
        self.mails: list[EmailMessage] = []
        self.attempts = 0
        self._changed = threading.Condition()
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def address(self) -> str:
        """Return host:port."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def take(self, data: bytes) -> bytes:
        """Store a mail and return the reply to it."""
        with self._changed:
            self.attempts += 1
            if self.attempts <= self.busy:
                return b"451 try again later"
            mail = message_from_bytes(data, policy=default)
            assert isinstance(mail, EmailMessage)
            self.mails.append(mail)
            self._changed.notify_all()
        return b"250 taken"

    def until(self, is_so: Callable[[list[EmailMessage]], bool]) -> list[EmailMessage]:
        """Wait until `is_so` accepts the mails, and return them."""
        with self._changed:
            assert self._changed.wait_for(lambda: is_so(self.mails), DEADLINE_SECONDS)
            return list(self.mails)

    def __enter__(self) -> "MailServer":
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _handler(server: MailServer) -> type[socketserver.StreamRequestHandler]:
    class SmtpHandler(socketserver.StreamRequestHandler):
        def setup(self) -> None:
            if server.tls is not None:
                self.request.settimeout(DEADLINE_SECONDS)
                self.request = server.tls.wrap_socket(
                    self.request, server_side=True, do_handshake_on_connect=False
                )
            super().setup()

        def finish(self) -> None:
            super().finish()
            self.request.close()

        def handle(self) -> None:
            try:
                self._talk()
            except OSError:
                pass  # the client has gone, or does not trust us

        def _talk(self) -> None:
            self._say(b"220 fake")
            while line := self.rfile.readline():
                match line.split()[0].upper():
                    case b"EHLO" | b"HELO" | b"MAIL" | b"RCPT" | b"RSET":
                        self._say(b"250 ok")
                    case b"DATA":
                        self._say(b"354 go on")
                        self._say(server.take(self._data()))
                    case b"QUIT":
                        self._say(b"221 bye")
                        return
                    case _:
                        self._say(b"502 not here")

        def _data(self) -> bytes:
            lines: list[bytes] = []
            while (line := self.rfile.readline()) != b".\r\n":
                lines.append(line[1:] if line.startswith(b"..") else line)
            return b"".join(lines)

        def _say(self, text: bytes) -> None:
            self.wfile.write(text + b"\r\n")

    return SmtpHandler

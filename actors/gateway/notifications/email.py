"""The channel `email`: a plain text by SMTP, with STARTTLS or TLS, from a thread."""

import asyncio
import smtplib
import ssl
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from actors.gateway.notifications.channel import DeliveryFailed, Notification
from agiraph.core.channel_settings import ChannelConfig
from agiraph.notifications.notice import Notice, wants
from agiraph.notifications.wording import body_of, title_of

PORTS = {"starttls": 587, "ssl": 465, "none": 25}


class EmailChannel:
    """Sends to one address by one server. A mail's Message-ID is its delivery's id."""

    def __init__(self, settings: ChannelConfig, timeout_seconds: float) -> None:
        """Send as `settings`, whose variables are filled in, say."""
        self._settings = settings
        self._timeout = timeout_seconds

    def matches(self, notice: Notice) -> bool:
        """Whether this notice goes this way."""
        return wants(self._settings, notice)

    async def deliver(self, parcel: Notification) -> None:
        """Send; the server's word that it has the mail ends it."""
        try:
            await asyncio.to_thread(self._send, mail_of(self._settings, parcel))
        except smtplib.SMTPResponseException as error:
            said = error.smtp_error
            text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
            raise DeliveryFailed(f"the server answered {error.smtp_code} {text}"[:300]) from None
        except (smtplib.SMTPException, ssl.SSLError, OSError) as error:
            raise DeliveryFailed(f"{type(error).__name__}: {error}"[:300]) from None

    async def close(self) -> None:
        """Nothing is held open."""

    def _send(self, mail: EmailMessage) -> None:
        settings = self._settings
        host, _, port = settings.server.partition(":")
        where = (host, int(port) if port else PORTS[settings.security])
        with self._connected(*where) as server:
            if settings.security == "starttls":
                server.starttls(context=ssl.create_default_context())
            if settings.user:
                server.login(settings.user, settings.password)
            server.send_message(mail)

    def _connected(self, host: str, port: int) -> smtplib.SMTP:
        if self._settings.security != "ssl":
            return smtplib.SMTP(host, port, timeout=self._timeout)
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(host, port, timeout=self._timeout, context=context)


def mail_of(settings: ChannelConfig, parcel: Notification) -> EmailMessage:
    """Return a parcel as a mail; the same parcel, the same Message-ID."""
    from datetime import UTC, datetime

    mail = EmailMessage(policy=SMTP)
    mail["From"] = settings.sender
    mail["To"] = settings.to
    mail["Subject"] = _one_line(title_of(parcel.notice))
    mail["Date"] = format_datetime(datetime.fromtimestamp(parcel.notice.ts, UTC))
    mail["Message-ID"] = f"<{parcel.id}@{settings.sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    if parcel.notice.is_urgent:
        mail["Importance"] = "high"
    mail.set_content(body_of(parcel.notice, parcel.link))
    return mail


def _one_line(text: str) -> str:
    """Return text that can stand in a header, whatever an entity is called."""
    return "".join(c if c.isprintable() else " " for c in text)

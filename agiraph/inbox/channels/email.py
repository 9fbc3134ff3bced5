"""The channel `email`: a plain text by SMTP, with STARTTLS or TLS, from a thread."""

import asyncio
import smtplib
import ssl
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from agiraph.inbox.channels.channel import DeliveryFailed, Notification
from agiraph.notifications.notice import body_of, title_of
from agiraph.settings.channels import ChannelConfig

PORTS = {"starttls": 587, "ssl": 465, "none": 25}


async def deliver(
    settings: ChannelConfig, notification: Notification, timeout_seconds: float
) -> None:
    """Send the notification to one address; return when the server has accepted it."""
    try:
        mail = mail_of(settings, notification)
        await asyncio.to_thread(_send, settings, mail, timeout_seconds)
    except smtplib.SMTPResponseException as error:
        reply = error.smtp_error
        text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else str(reply)
        raise DeliveryFailed(f"the server answered {error.smtp_code} {text}"[:300]) from None
    except (smtplib.SMTPException, ssl.SSLError, OSError) as error:
        raise DeliveryFailed(f"{type(error).__name__}: {error}"[:300]) from None


def _send(settings: ChannelConfig, mail: EmailMessage, timeout: float) -> None:
    with _connected(settings, timeout) as server:
        if settings.security == "starttls":
            server.starttls(context=ssl.create_default_context())
        if settings.user:
            server.login(settings.user, settings.password)
        server.send_message(mail)


def _connected(settings: ChannelConfig, timeout: float) -> smtplib.SMTP:
    host, _, named = settings.server.partition(":")
    port = int(named) if named else PORTS[settings.security]
    if settings.security != "ssl":
        return smtplib.SMTP(host, port, timeout=timeout)
    return smtplib.SMTP_SSL(host, port, timeout=timeout, context=ssl.create_default_context())


def mail_of(settings: ChannelConfig, notification: Notification) -> EmailMessage:
    """Return a notification as a mail; its Message-ID follows from the notification's id."""
    mail = EmailMessage(policy=SMTP)
    mail["From"] = settings.sender
    mail["To"] = settings.to
    mail["Subject"] = _one_line(title_of(notification.notice))
    mail["Date"] = format_datetime(datetime.fromtimestamp(notification.notice.ts, UTC))
    mail["Message-ID"] = f"<{notification.id}@{settings.sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    if notification.notice.is_urgent:
        mail["Importance"] = "high"
    mail.set_content(body_of(notification.notice, notification.link, notification.page))
    return mail


def _one_line(text: str) -> str:
    """Return text that is valid in a mail header: unprintable characters become spaces."""
    return "".join(c if c.isprintable() else " " for c in text)

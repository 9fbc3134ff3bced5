"""The channel `desktop`: a notification on this machine's own screen."""

import asyncio
import shutil

from agiraph.core.naming import cut
from agiraph.inbox.channels.channel import DeliveryFailed, Notification
from agiraph.notifications.notice import body_of, title_of
from agiraph.settings.channels import ChannelConfig

BODY_LIMIT = 300
SCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)


async def deliver(
    settings: ChannelConfig, notification: Notification, timeout_seconds: float
) -> None:
    """Show the notification with notify-send (Linux) or osascript (macOS). Raises DeliveryFailed.

    Title and text are arguments, never part of a script or a shell line.
    """
    program, *arguments = _command(notification)
    process = await asyncio.create_subprocess_exec(
        program,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(timeout_seconds):
            code = await process.wait()
    except TimeoutError:
        raise DeliveryFailed(f"{program} did not end within {timeout_seconds:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if code != 0:
        raise DeliveryFailed(f"{program} ended with status {code}")


def _command(notification: Notification) -> list[str]:
    notice = notification.notice
    title = title_of(notice).replace("\0", " ")
    body = cut(body_of(notice, None), BODY_LIMIT).replace("\0", " ")
    if (program := shutil.which("notify-send")) is not None:
        urgency = "critical" if notice.is_urgent else "normal"
        return [program, "--app-name=Agiraph", f"--urgency={urgency}", "--", title, body]
    if (program := shutil.which("osascript")) is not None:
        return [program, *(part for line in SCRIPT for part in ("-e", line)), title, body]
    raise DeliveryFailed("neither notify-send nor osascript is installed")

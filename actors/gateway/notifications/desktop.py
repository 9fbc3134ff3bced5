"""The channel `desktop`: a notification on this machine's own screen."""

import asyncio
import shutil
from collections.abc import Callable

from actors.gateway.notifications.channel import DeliveryFailed, Notification
from agiraph.core.channel_settings import ChannelConfig
from agiraph.notifications.notice import Notice, cut, wants
from agiraph.notifications.wording import body_of, title_of

BODY_LIMIT = 300
SCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)
Command = list[str]


class DesktopChannel:
    """Asks notify-send (Linux) or osascript (macOS), whichever there is."""

    def __init__(self, settings: ChannelConfig, timeout_seconds: float) -> None:
        """Notify as `settings` say."""
        self._settings = settings
        self._timeout = timeout_seconds

    def matches(self, notice: Notice) -> bool:
        """Whether this notice goes this way."""
        return wants(self._settings, notice)

    async def deliver(self, parcel: Notification) -> None:
        """Show it; the title and text are arguments, never part of a script or shell line."""
        program, make = _found()
        title = title_of(parcel.notice)
        body = cut(body_of(parcel.notice, None), BODY_LIMIT)
        is_urgent = parcel.notice.is_urgent
        process = await asyncio.create_subprocess_exec(
            program,
            *make(title.replace("\0", " "), body.replace("\0", " "), is_urgent),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(self._timeout):
                code = await process.wait()
        except TimeoutError:
            raise DeliveryFailed(f"{program} did not end within {self._timeout:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if code != 0:
            raise DeliveryFailed(f"{program} ended with status {code}")

    async def close(self) -> None:
        """Nothing is held open."""


def _found() -> tuple[str, Callable[[str, str, bool], Command]]:
    for name, make in (("notify-send", _notify_send), ("osascript", _osascript)):
        program = shutil.which(name)
        if program is not None:
            return program, make
    raise DeliveryFailed("neither notify-send nor osascript is installed")


def _notify_send(title: str, body: str, is_urgent: bool) -> Command:
    urgency = "critical" if is_urgent else "normal"
    return ["--app-name=Agiraph", f"--urgency={urgency}", "--", title, body]


def _osascript(title: str, body: str, _is_urgent: bool) -> Command:
    return [*(part for line in SCRIPT for part in ("-e", line)), title, body]

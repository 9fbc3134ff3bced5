"""The ways out that need something of this machine: a screen, a mail server behind TLS."""

import asyncio
import os
import shutil
import ssl
import stat
import subprocess
from pathlib import Path

import pytest

from agiraph.inbox.channels import desktop, email
from agiraph.inbox.channels.channel import DeliveryFailed, Notification
from agiraph.settings.channels import ChannelConfig
from tests.fakes.mail_server import MailServer
from tests.unit.notifications.notices import notice

PARCEL = Notification("dlv_1", notice(text="--help `id` $(id)", is_urgent=True), None, "")
SCREEN = ChannelConfig(kind="desktop")


def program(folder: Path, name: str, script: str) -> None:
    """Put a program of this name into a folder."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize("name", ["notify-send", "osascript"])
def test_a_notification_is_shown_as_text_and_never_run(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, name, f'for word in "$@"; do echo "$word" >> {tmp_path}/told; done')
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    asyncio.run(desktop.deliver(SCREEN, PARCEL, 10.0))
    told = (tmp_path / "told").read_text().splitlines()
    assert "--help `id` $(id)" in told
    assert told[-2:] == ["shop: Ada asks", "--help `id` $(id)"]


def test_hanging_failing_or_missing_notifier_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DeliveryFailed, match="neither notify-send nor osascript"):
        asyncio.run(desktop.deliver(SCREEN, PARCEL, 10.0))
    program(tmp_path, "notify-send", "exit 3")
    with pytest.raises(DeliveryFailed, match="ended with status 3"):
        asyncio.run(desktop.deliver(SCREEN, PARCEL, 10.0))
    program(tmp_path, "notify-send", "exec /bin/sleep 60")
    with pytest.raises(DeliveryFailed, match="did not end within"):
        asyncio.run(desktop.deliver(SCREEN, PARCEL, 0.2))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the key")
def test_a_mail_server_behind_tls_must_show_a_certificate_that_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, file = tmp_path / "key.pem", tmp_path / "certificate.pem"
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    subprocess.run(
        ["openssl", "req", "-x509", *kind, "-keyout", str(key), "-out", str(file), *names],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key)
    with MailServer(tls=context) as server:
        settings = ChannelConfig(
            kind="email",
            to="me@example.org",
            sender="agents@example.org",
            server=f"localhost:{server.address.partition(':')[2]}",
            security="ssl",
        )
        with pytest.raises(DeliveryFailed, match="CERTIFICATE_VERIFY_FAILED"):
            asyncio.run(email.deliver(settings, PARCEL, 10.0))
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        asyncio.run(email.deliver(settings, PARCEL, 10.0))
        assert len(server.mails) == 1
        asked_too_much = settings.model_copy(update={"user": "me", "password": "hush"})
        with pytest.raises(DeliveryFailed) as refused:
            asyncio.run(email.deliver(asked_too_much, PARCEL, 10.0))
        assert "hush" not in str(refused.value)

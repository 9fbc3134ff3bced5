"""The router's socket: taken once, private, deaf to odd shapes, and it imports little."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import zmq

from actors.router.main import BAD_CONFIG, TOPOLOGY, main
from tests.fakes.launches import launch_of
from transport import protocol, tickets
from transport.backlog import MOST_KEPT_FRAMES
from transport.envelope import body_of, read_header, read_map
from transport.errors import BindRefused
from transport.mailboxes import Mailboxes
from transport.protocol import hello_frame, link_frame
from transport.router import Router

KEY = b"k" * 32


def make_router(url: str, log: Callable[[str], None] = print) -> Router:
    """Return a router that is not bound."""
    return Router(url, KEY, Mailboxes(), topology=TOPOLOGY, log=log)


@contextmanager
def running(url: str, log: Callable[[str], None] = print) -> Iterator[Router]:
    """Run a router in a thread."""
    router = make_router(url, log)
    router.bind()
    thread = threading.Thread(target=router.run)
    thread.start()
    try:
        yield router
    finally:
        router.stop()
        thread.join()
        router.close()


@contextmanager
def peer(url: str) -> Iterator["zmq.Socket[bytes]"]:
    """Connect a bare socket."""
    context = zmq.Context[zmq.Socket[bytes]]()
    socket = context.socket(zmq.DEALER)
    socket.setsockopt(zmq.RCVTIMEO, 10_000)
    socket.connect(url)
    try:
        yield socket
    finally:
        context.destroy(linger=0)


def hello(address: str) -> bytes:
    """Return a good hello."""
    return hello_frame(address, 1, tickets.make_ticket(KEY, address, 1), 1)


@contextmanager
def welcomed(url: str, *addresses: str) -> Iterator[list["zmq.Socket[bytes]"]]:
    """Connect peers that the router has let in."""
    with ExitStack() as stack:
        peers = [stack.enter_context(peer(url)) for _ in addresses]
        for socket, address in zip(peers, addresses, strict=True):
            socket.send(hello(address))
            assert read_header(socket.recv()).type == protocol.WELCOME
        yield peers


def test_a_socket_has_one_router(tmp_path: Path) -> None:
    url = f"ipc://{tmp_path}/run/bus"
    with running(url):
        second = make_router(url)
        with pytest.raises(BindRefused, match="another router"):
            second.bind()
        second.close()
        with welcomed(url, "ada"):
            pass  # the first one still has its path
    with running(url):
        pass  # and gives it back


def test_a_path_that_is_too_long_is_refused(tmp_path: Path) -> None:
    router = make_router(f"ipc://{tmp_path}/{'x' * 120}")
    with pytest.raises(BindRefused, match="107"):
        router.bind()
    router.close()


def test_a_folder_that_is_open_to_others_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    folder.chmod(0o755)
    router = make_router(f"ipc://{folder}/bus")
    with pytest.raises(BindRefused, match="open to others"):
        router.bind()
    router.close()


def test_the_folder_is_made_private(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        with running(f"ipc://{tmp_path}/run/bus"):
            assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(old)


def test_malformed_frames_are_discarded(tmp_path: Path) -> None:
    url = f"ipc://{tmp_path}/run/bus"
    with running(url), peer(url) as socket:
        socket.send_multipart([b"one", b"two", b"three"])
        socket.send_multipart([b"", b""])
        socket.send(hello("ada"))
        assert read_header(socket.recv()).type == protocol.WELCOME


def test_peer_that_does_not_read_loses_transient_messages_and_blocks_no_other(
    tmp_path: Path,
) -> None:
    url = f"ipc://{tmp_path}/run/bus"
    flood = link_frame("test.flood", {"data": bytes(20_000)}, to="bob", sender="ada", incarnation=1)
    with running(url) as router, welcomed(url, "ada", "bob") as (ada, bob):
        for _ in range(8_000):
            ada.send(flood)
        beat = link_frame(protocol.HEARTBEAT, {"lag": 0.0}, sender="ada", incarnation=1)
        ada.send(beat)
        assert read_header(ada.recv()).type == protocol.ALIVE
        assert router._outlet is not None
        assert any(backlog.dropped for backlog in router._outlet.backlogs.values())
        assert read_header(bob.recv()).type == "test.flood"


def test_peer_that_reads_no_durable_messages_is_disconnected(tmp_path: Path) -> None:
    url, said = f"ipc://{tmp_path}/run/bus", list[str]()
    refused = link_frame("no.such", {}, to=protocol.ROUTER, sender="ada", incarnation=1)
    with running(url, said.append) as router, welcomed(url, "ada", "bob") as (ada, bob):
        for _ in range(MOST_KEPT_FRAMES + 20_000):
            ada.send(refused)
        down = bob.recv()
        assert read_header(down).type == protocol.DOWN
        assert read_map(body_of(down))["address"] == "ada"
        beat = link_frame(protocol.HEARTBEAT, {"lag": 0.0}, sender="bob", incarnation=1)
        bob.send(beat)
        assert read_header(bob.recv()).type == protocol.ALIVE
        while read_header(ada.recv()).type != protocol.WHO:
            pass  # the refusals before it was cut off
        ada.send(hello("ada"))
        while read_header(ada.recv()).type != protocol.WELCOME:
            pass
        assert router.core.present == {"ada": 1, "bob": 1}
    [line] = said
    assert line.startswith("ada#1 does not read: it is cut off")


def test_the_process_refuses_to_route_without_a_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(launch_of(tmp_path)) == BAD_CONFIG
    assert "key" in capsys.readouterr().err


def test_the_router_process_imports_neither_models_nor_the_domain() -> None:
    program = (
        "import sys; import actors.router.main;"
        "sys.exit(bool({'pydantic', 'agiraph', 'asyncio'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, cwd=Path(__file__).parents[3]
    )
    assert done.returncode == 0

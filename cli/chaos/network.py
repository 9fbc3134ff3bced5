"""Network: network namespaces joined by a switch that loses, delays and reorders packets.

Each member is a namespace with one TUN device. The first is the namespace of this process, which
must be its own (`run_apart`); each other is held by a small process. The switch is a thread that
passes packets between the devices. So real TCP connections meet a bad network, on one machine and
without a kernel module. It requires Linux, `nsenter` and `unshare` (util-linux), /dev/net/tun, and
either root or user namespaces.
"""

import ctypes
import fcntl
import heapq
import os
import random
import select
import shutil
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from agiraph.core.errors import InvalidInput

PREFIX: Final = "10.77.0."
DEVICE: Final = b"agiraph0"
DEVICES: Final = "/dev/net/tun"
MTU: Final = 1400
CLONE_NEWNET: Final = 0x40000000
TUNSETIFF: Final = 0x400454CA
IFF_TUN, IFF_NO_PI, IFF_UP = 0x0001, 0x1000, 0x1
SIOCGIFFLAGS, SIOCSIFFLAGS = 0x8913, 0x8914
SIOCSIFADDR, SIOCSIFNETMASK, SIOCSIFMTU = 0x8916, 0x891C, 0x8922
DESTINATION: Final = slice(16, 20)
"""The destination in an IPv4 header (RFC 791)."""


@dataclass(frozen=True, slots=True)
class Weather:
    """The faults of packets: shares in [0, 1), times in seconds.

    Each packet is delayed by `delay` and up to `jitter` more; a share `reordered` of them is
    delayed by `jitter` twice more, so that later ones pass it.
    """

    loss: float = 0.0
    delay: float = 0.0
    jitter: float = 0.0
    reordered: float = 0.0


def run_apart(command: Sequence[str]) -> int:
    """Run a command in a network namespace of its own, where it is root; return its exit code.

    Raises InvalidInput where this system does not permit it.
    """
    apart = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-Urn"]
    try:
        is_allowed = subprocess.run([*apart, "test", "-w", DEVICES], check=False).returncode == 0
    except OSError:
        is_allowed = False
    if not is_allowed or shutil.which("nsenter") is None:
        raise InvalidInput(
            "network namespaces need Linux with `unshare` and `nsenter` (util-linux), "
            f"{DEVICES}, and root or user namespaces; they are not possible here"
        )
    return subprocess.run([*apart, *command], check=False).returncode


class Network:
    """Joined namespaces by name, each with an address; exist in a `with` block.

    Raises InvalidInput where this system does not permit it.
    """

    def __init__(self, names: Sequence[str], weather: Weather = Weather(), seed: int = 1) -> None:
        self.weather = weather
        self.addresses: Mapping[str, str] = {
            name: f"{PREFIX}{number}" for number, name in enumerate(names, start=1)
        }
        self.passed = self.lost = 0
        self._dice = random.Random(seed)
        self._holders: dict[str, tuple[int, socket.socket]] = {}
        self._devices: dict[bytes, int] = {}
        self._names: dict[int, str] = {}
        self._cut: set[str] = set()
        self._is_open = False
        self._switch = threading.Thread(target=self._pass_packets, daemon=True)

    def __enter__(self) -> Self:
        own, *others = self.addresses
        try:
            self._join(own, _device(self.addresses[own]))
            for name in others:
                self._hold(name, self.addresses[name])
        except BaseException:
            self._close()
            raise
        self._is_open = True
        self._switch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_open = False
        self._switch.join()
        self._close()

    def inside(self, name: str, command: Sequence[str]) -> list[str]:
        """Return the words that run `command` in the namespace of `name`."""
        pid, _ = self._holders[name]
        return ["nsenter", f"--target={pid}", "--net", "--", *command]

    def cut(self, name: str) -> None:
        """Drop every packet from or to a member silently, as a pulled cable does."""
        self._cut.add(name)

    def heal(self, name: str) -> None:
        """Pass packets from and to a member again."""
        self._cut.discard(name)

    # --- members ---------------------------------------------------------------------------------

    def _hold(self, name: str, address: str) -> None:
        """Start the process that holds a namespace; it ends when its socket is closed."""
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            for line in (ours, *(line for _, line in self._holders.values())):
                line.close()  # an end that stays open here would keep the others' holders alive
            _hold_namespace(theirs, address)  # does not return
        theirs.close()
        self._holders[name] = pid, ours
        problem, devices, _, _ = socket.recv_fds(ours, 1024, 1)
        if not devices:
            why = problem.decode() or "the namespace could not be made"
            raise InvalidInput(f"network namespaces are not possible here: {why}")
        self._join(name, devices[0])

    def _join(self, name: str, device: int) -> None:
        os.set_blocking(device, False)
        self._devices[socket.inet_aton(self.addresses[name])] = device
        self._names[device] = name

    def _close(self) -> None:
        for device in self._devices.values():
            os.close(device)
        for pid, line in self._holders.values():
            line.close()
            os.waitpid(pid, 0)
        self._devices.clear()
        self._holders.clear()

    # --- the switch ------------------------------------------------------------------------------

    def _pass_packets(self) -> None:
        poller = select.poll()
        for device in self._names:
            poller.register(device, select.POLLIN)
        due: list[tuple[float, int, int, bytes]] = []
        count = 0
        while self._is_open:
            wait = min(0.1, max(0.0, due[0][0] - time.monotonic())) if due else 0.1
            for device, _ in poller.poll(wait * 1000):
                count += 1
                packet = os.read(device, MTU)
                target = self._devices.get(packet[DESTINATION])
                if target is None or self._is_lost(device, target):
                    self.lost += 1
                else:
                    heapq.heappush(due, (self._when(), count, target, packet))
            now = time.monotonic()
            while due and due[0][0] <= now:
                _, _, target, packet = heapq.heappop(due)
                self._deliver(target, packet)

    def _is_lost(self, source: int, target: int) -> bool:
        is_cut = self._names[source] in self._cut or self._names[target] in self._cut
        return is_cut or self._dice.random() < self.weather.loss

    def _when(self) -> float:
        weather = self.weather
        late = weather.jitter * self._dice.random()
        if self._dice.random() < weather.reordered:
            late += 2 * weather.jitter
        return time.monotonic() + weather.delay + late

    def _deliver(self, target: int, packet: bytes) -> None:
        if self._names[target] in self._cut:
            self.lost += 1
            return
        try:
            os.write(target, packet)
            self.passed += 1
        except BlockingIOError:
            self.lost += 1  # like a switch whose buffer is full


def _hold_namespace(line: socket.socket, address: str) -> None:
    """Make a namespace and its device, send the device over `line`, wait until `line` is closed."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        device = _device(address)
        socket.send_fds(line, [b"."], [device])
        os.close(device)
        line.recv(1)
    except OSError as error:
        line.send(str(error).encode()[:1000])
    finally:
        os._exit(0)


def _device(address: str) -> int:
    """Return a TUN device of this namespace that has `address` and is up."""
    device = os.open(DEVICES, os.O_RDWR | os.O_CLOEXEC)  # plain: /dev
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", DEVICE, IFF_TUN | IFF_NO_PI))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for request, value in ((SIOCSIFADDR, address), (SIOCSIFNETMASK, "255.255.255.0")):
            packed = struct.pack("16sHH4s8x", DEVICE, socket.AF_INET, 0, socket.inet_aton(value))
            fcntl.ioctl(control, request, packed)
        fcntl.ioctl(control, SIOCSIFMTU, struct.pack("16si", DEVICE, MTU))
        for name in (b"lo", DEVICE):
            there = fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16sh", name, 0))
            (known,) = struct.unpack("16xh", there)
            fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh", name, known | IFF_UP))
    return device

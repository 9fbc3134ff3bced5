"""Public addresses, compared with the numbers of the ranges, and between their forms."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from hypothesis import given
from hypothesis import strategies as st

from agiraph.tools.web.addresses import REFUSED, is_local_name, why_host_refused, why_refused

RANGES = [ip_network(range_) for _, ranges in REFUSED for range_ in ranges]
WRAPS = ("::ffff:{0}", "::ffff:0:{0}", "::{0}", "64:ff9b::{0}")


def in_some_range(address: IPv4Address) -> bool:
    """Judge by plain arithmetic on the ranges' numbers."""
    return any(
        int(network[0]) <= int(address) <= int(network[-1])
        for network in RANGES
        if network.version == 4
    )


@given(st.ip_addresses(v=4))
def test_ipv4_address_is_public_if_it_is_in_no_reserved_range(address: IPv4Address) -> None:
    assert (why_refused(str(address)) is not None) == in_some_range(address)


@given(st.ip_addresses(v=4))
def test_address_that_is_not_global_in_the_standard_library_is_refused(
    address: IPv4Address,
) -> None:
    if not address.is_global or address.is_multicast or address.is_reserved:
        # Two anycast addresses for which newer Pythons make an exception in a reserved range.
        assert why_refused(str(address)) is not None or in_some_range(address)


@given(st.sampled_from(RANGES).flatmap(lambda network: st.ip_addresses(network=network)))
def test_address_in_a_reserved_range_is_refused(address: IPv4Address | IPv6Address) -> None:
    assert why_refused(str(address)) is not None


@given(st.ip_addresses(v=4), st.sampled_from(WRAPS))
def test_ipv6_form_of_a_refused_ipv4_address_is_refused(address: IPv4Address, wrap: str) -> None:
    wrapped = wrap.format(address)
    if ip_address(wrapped) == IPv6Address("::"):
        return
    if why_refused(str(address)) is not None:
        assert why_refused(wrapped) is not None


@given(st.ip_addresses(v=4))
def test_6to4_address_is_judged_by_its_ipv4_address(address: IPv4Address) -> None:
    carrier = IPv6Address((0x2002 << 112) | (int(address) << 80) | 1)
    assert (why_refused(str(carrier)) is None) == (why_refused(str(address)) is None)


@given(st.ip_addresses(v=6))
def test_an_ipv6_address_that_is_not_global_is_refused(address: IPv6Address) -> None:
    is_known = address.is_private or address.is_link_local or address.is_multicast
    if is_known and address.sixtofour is None:
        assert why_refused(str(address)) is not None


@given(st.integers(0x4000 << 112, (1 << 128) - 1))
def test_an_ipv6_address_that_is_not_assigned_is_refused(number: int) -> None:
    assert why_refused(str(IPv6Address(number))) is not None


@given(st.sampled_from(RANGES).flatmap(lambda network: st.ip_addresses(network=network)))
def test_another_spelling_of_a_private_address_is_refused(
    address: IPv4Address | IPv6Address,
) -> None:
    """A proxy may resolve it."""
    if isinstance(address, IPv4Address):
        first, rest = divmod(int(address), 1 << 24)
        for host in (f"{int(address)}", f"{int(address):#x}", f"{first:#o}.{rest}", f"{address}."):
            assert why_host_refused(host.replace("0o", "0")) is not None


@given(st.ip_addresses(v=6), st.text("abc0123456789", min_size=1, max_size=8))
def test_address_with_a_zone_is_refused(address: IPv6Address, zone: str) -> None:
    assert why_refused(f"{address}%{zone}") is not None


@given(st.sampled_from(["localhost", "x.local", "a.b.internal", "LOCALHOST", "localhost."]))
def test_local_host_names_are_refused(name: str) -> None:
    assert is_local_name(name)


def test_public_addresses_are_accepted() -> None:
    for address in ("93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "2001:4860:4860::8888"):
        assert why_refused(address) is None
    for host in ("example.com", "16843009", "1.1.1.1.", "1e100.net", "x.0x7f.example.com"):
        assert why_host_refused(host) is None

"""Which service, which key: environment first, then the file that `mg login` writes.

The rules are those of the contract, sections 1.1 and 2, and these of our own:

- Only `https` addresses, or `http` to a literal loopback address (127.0.0.0/8, `[::1]`); never link-local, unspecified,
  multicast or cloud metadata addresses, and no user name, query or fragment in the address.
- A key from the file goes to the address it was stored with (the hosted service if none was) or to loopback. A
  project's client configuration can set MERGESTORM_API_URL, and must not be able to send a person's key elsewhere. A
  key from the environment goes where the environment says: whoever sets one sets both.
- A file that cannot be used reads as empty, and the message about the missing key names it.

Standard library and mcpkit.files only: cheap to import.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from mcpkit.files import FileAccessError, atomic_write, open_regular
from mergestorm_mcp.errors import CommandError, usage

__all__ = [
    "HOSTED_API",
    "MAX_CONFIG_BYTES",
    "Access",
    "Environment",
    "StoredConfig",
    "active_base",
    "checked_base",
    "config_directory",
    "config_path",
    "delete_config",
    "is_forbidden_address",
    "is_literal",
    "is_loopback",
    "key_display",
    "load_config",
    "require_sound",
    "resolve_access",
    "save_config",
    "write_private",
]

HOSTED_API: Final = "https://api.mergestorm.ai"
"""Where the service is unless somebody says otherwise."""

MAX_CONFIG_BYTES: Final = 64 * 1024
_MAX_KEY: Final = 1024
_SHOWN: Final = 12

_METADATA_NAMES: Final = frozenset({"metadata", "metadata.google.internal", "metadata.goog", "instance-data"})
# Metadata addresses outside the link-local ranges: AWS (IPv6), Alibaba Cloud, Oracle Cloud.
_METADATA_ADDRESSES: Final = frozenset(
    ipaddress.ip_address(address) for address in ("fd00:ec2::254", "100.100.100.200", "192.0.0.192")
)
# Where the last four bytes are an IPv4 address that a gateway connects to.
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Environment:
    """What the process was given: variables, a home and a place to stand.

    Attributes:
        variables: the environment variables; kept out of the repr, for one of them is a key.
        home: the user's home directory.
        working_directory: where the server was started.
    """

    variables: Mapping[str, str] = field(repr=False)
    home: str
    working_directory: str

    @classmethod
    def current(cls) -> Environment:
        """The environment of this process."""
        return cls(dict(os.environ), _home(), os.getcwd())

    def text(self, name: str) -> str:
        """A variable without surrounding blanks, empty if it is not set."""
        return self.variables.get(name, "").strip()


@dataclass(frozen=True, slots=True)
class StoredConfig:
    """What the configuration file holds.

    Attributes:
        path: the file.
        api_key: the stored key; never in the repr.
        api_base: the address stored beside it, as written.
        fault: why the file could not be used, in words; None if it could or is not there.
    """

    path: str
    api_key: str | None = field(default=None, repr=False)
    api_base: str | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """One service and the key for it.

    Attributes:
        base: checked address without a trailing slash.
        key: the key; never in the repr.
        config_path: where the configuration file is or would be.
    """

    base: str
    key: str = field(repr=False)
    config_path: str


def config_directory(environment: Environment) -> str:
    """The folder of everything the package keeps for a user."""
    return os.path.join(environment.home, ".mergestorm")


def config_path(environment: Environment) -> str:
    """The configuration file."""
    return os.path.join(config_directory(environment), "config.json")


def load_config(environment: Environment) -> StoredConfig:
    """Read the configuration file; whatever is wrong with it becomes `fault`."""
    path = config_path(environment)
    try:
        with open_regular(path, max_bytes=MAX_CONFIG_BYTES) as stream:
            _tighten(stream.fileno())
            data = stream.read()
    except FileAccessError as error:
        return StoredConfig(path, fault=None if error.kind == "not_found" else f"it {error.reason}")
    try:
        stored = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return StoredConfig(path, fault="it is not valid JSON")
    if not isinstance(stored, dict):
        return StoredConfig(path, fault="it does not hold a JSON object")
    for name in ("apiKey", "apiBase"):
        if stored.get(name) is not None and not isinstance(stored[name], str):
            return StoredConfig(path, fault=f"its {name} is not a string")
    return StoredConfig(path, _filled(stored, "apiKey"), _filled(stored, "apiBase"))


def save_config(environment: Environment, *, api_key: str, api_base: str) -> str:
    """Store a key and the address it belongs to; returns the file's path.

    The file is replaced whole, readable by its owner only, whatever its mode was before.

    Raises:
        CommandError: the file that is there is damaged (it is not overwritten), or cannot be written.
    """
    found = require_sound(environment)
    stored = {"apiKey": api_key} if api_base == HOSTED_API else {"apiKey": api_key, "apiBase": api_base}
    write_private(environment, found.path, stored)
    return found.path


def require_sound(environment: Environment) -> StoredConfig:
    """The configuration, if a login may be stored in it.

    Raises:
        CommandError: `usage`, naming the damaged file.
    """
    found = load_config(environment)
    if found.fault is not None:
        raise usage(
            f"The configuration file {found.path} cannot be used: {found.fault}. Repair it, or delete it with "
            "`mg logout`, then log in again; it was left as it is."
        )
    return found


def write_private(environment: Environment, path: str, value: Mapping[str, Any]) -> None:
    """Write a JSON file in the configuration folder that only its owner can read.

    Raises:
        CommandError: the folder or file cannot be written.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    try:
        os.makedirs(config_directory(environment), mode=0o700, exist_ok=True)
        # A link placed by the user (a synchronised home) is kept: its target is what gets replaced.
        atomic_write(os.path.realpath(path), text.encode("utf-8"), 0o600)
    except FileAccessError as error:
        raise CommandError(f"Could not write {path}: {error.reason}.") from None
    except OSError as error:
        raise CommandError(f"Could not write {path}: {os.strerror(error.errno or 0)}.") from None


def delete_config(environment: Environment) -> bool:
    """Delete the configuration file; says whether there was one.

    Raises:
        CommandError: it cannot be deleted.
    """
    path = config_path(environment)
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CommandError(f"Could not delete {path}: {os.strerror(error.errno or 0)}.") from None
    return True


def resolve_access(environment: Environment) -> Access:
    """The service and key for one call.

    Raises:
        CommandError: `missing_api_key` (none, a damaged file, or a stored key that belongs to another service);
            `usage` for an address that may not be used.
    """
    stored = load_config(environment)
    key = environment.text("MERGESTORM_API_KEY")
    own_key = bool(key)
    if not own_key:
        key = (stored.api_key or "").strip()
    if not key:
        raise _missing_key(stored)
    if len(key) > _MAX_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise CommandError(
            "The API key has characters that no key has; copy it again, or run `mg login`.",
            code="auth_invalid",
        )
    base = active_base(environment, stored)
    if not own_key and not is_loopback(base):
        owner = checked_base(stored.api_base) if stored.api_base else HOSTED_API
        if base != owner:
            raise CommandError(
                f"The saved key belongs to {owner} and is not sent to {base}. Log in there with `mg login`, or set "
                "MERGESTORM_API_KEY for it.",
                code="missing_api_key",
            )
    return Access(base, key, stored.path)


def active_base(environment: Environment, stored: StoredConfig | None = None) -> str:
    """The service's address: MERGESTORM_API_URL, else the stored one, else the hosted service.

    Raises:
        CommandError: `usage`, for an address that may not be used.
    """
    if stored is None:
        stored = load_config(environment)
    return checked_base(environment.text("MERGESTORM_API_URL") or stored.api_base or HOSTED_API)


def checked_base(text: str) -> str:
    """An address in its one normal form: lower-case scheme and host, no default port, no trailing slash.

    Raises:
        CommandError: `usage`, for an address that may not be used; the message does not repeat it.
    """
    refusal = usage(
        "The service address must be https://host[:port], or http:// with a literal loopback address such as "
        "http://127.0.0.1:8080; check MERGESTORM_API_URL and apiBase in the configuration file."
    )
    if not text.isascii() or not text.isprintable() or " " in text or "\\" in text:
        raise refusal
    try:
        parts = urlsplit(text)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        raise refusal from None
    if not host or parts.username is not None or parts.password is not None or "?" in text or "#" in text:
        raise refusal
    address = _literal(host)
    if address is None and (not re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*", host) or _numeric_name(host)):
        raise refusal
    if _forbidden(host, address):
        raise usage(
            "The service address is one that Mergestorm keys are never sent to (link-local, metadata, unspecified or "
            "multicast); check MERGESTORM_API_URL and apiBase in the configuration file."
        )
    loopback = address is not None and address.is_loopback
    if parts.scheme != "https" and not (parts.scheme == "http" and loopback):
        raise refusal
    shown = f"[{host}]" if ":" in host else host
    if port is not None and port != (443 if parts.scheme == "https" else 80):
        shown += f":{port}"
    if any(part in {".", ".."} for part in parts.path.split("/")):
        raise refusal
    return f"{parts.scheme}://{shown}{parts.path.removesuffix('/')}"


def is_loopback(base: str) -> bool:
    """Whether a checked address is a literal loopback address."""
    address = _literal(urlsplit(base).hostname or "")
    return address is not None and address.is_loopback


def is_literal(host: str) -> bool:
    """Whether a host is an address and no name."""
    return _literal(host) is not None


def is_forbidden_address(text: str) -> bool:
    """Whether keys are never sent to a literal address: link-local, metadata, unspecified, multicast, or no address."""
    address = _literal(text)
    return address is None or _forbidden(text, address)


def key_display(key: str) -> str:
    """A key as it may be shown: its beginning, and never all of it."""
    return key[: min(_SHOWN, len(key) // 2)] + "…" if key else ""


def _missing_key(stored: StoredConfig) -> CommandError:
    if stored.fault is not None:
        message = (
            f"No Mergestorm API key: the configuration file {stored.path} cannot be used, because {stored.fault}. "
            "Repair or delete it and run `mg login`, or set MERGESTORM_API_KEY."
        )
    else:
        message = (
            "No Mergestorm API key. Run `mg login` on the machine of this server, or set MERGESTORM_API_KEY."
        )
    return CommandError(message, code="missing_api_key")


def _home() -> str:
    """The user's home directory.

    HOME that is no absolute path would make the configuration one of wherever the program stands, which may be
    somebody else's checkout; then the user database says where home is.
    """
    home = os.path.expanduser("~")
    if os.path.isabs(home):
        return home
    try:
        import pwd  # not on Windows, where HOME has no say

        home = pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError, AttributeError):
        pass
    return home if os.path.isabs(home) else os.path.abspath(os.sep)


def _filled(stored: Mapping[str, Any], name: str) -> str | None:
    value = stored.get(name)
    return value.strip() or None if isinstance(value, str) else None


def _tighten(descriptor: int) -> None:
    """Take other users' rights from a file of ours that holds a key; somebody else's file is left alone."""
    if os.name == "nt":
        return
    status = os.fstat(descriptor)
    if status.st_mode & 0o077 and status.st_uid == os.geteuid():
        with contextlib.suppress(OSError):  # a read-only file system: reading is still right
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & 0o700)


def _literal(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    if "%" in host:  # a zone is for link-local addresses only
        return ipaddress.ip_address("fe80::1")
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _numeric_name(host: str) -> bool:
    # Resolvers read 2852039166, 0xa9fea9fe and 169.16689662 as addresses (inet_aton); names never end in a number.
    return re.fullmatch(r"\d+|0x[0-9a-f]*", host.rsplit(".", 1)[-1]) is not None


def _forbidden(host: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None) -> bool:
    if address is None:
        return host in _METADATA_NAMES
    inner = [address]
    if isinstance(address, ipaddress.IPv6Address):
        inner += [item for item in (address.ipv4_mapped, address.sixtofour) if item is not None]
        if address in _NAT64:
            inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return any(
        item.is_link_local or item.is_unspecified or item.is_multicast or item in _METADATA_ADDRESSES
        for item in inner
    )

"""What the user allows outside the repository: hosts that text may be sent to, directories that models come from.

A repository is somebody else's until its user says otherwise. Its `.ragit/config.toml` may therefore choose among
what is allowed here, and can allow nothing itself. A user allows by configuration of their own (`[trust]`), or in the
environment.

A host is written `host` (https, its usual port), `host:port` (https) or, to allow a connection without encryption,
in full: `http://host:port`. It is compared as a whole; there are no wildcards, and a name is not resolved.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

__all__ = ["Trust", "origin_of_url"]

_USUAL_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}

#: Scheme, host in lower case, port.
UrlOrigin = tuple[str, str, int]


def origin_of_url(url: str) -> UrlOrigin | None:
    """Scheme, host and port of a URL; None unless it is http or https with a host and a valid port."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in _USUAL_PORTS or not host or any(character.isspace() for character in url.strip()):
        return None
    host = host.rstrip(".")
    return (parts.scheme, host, port or _USUAL_PORTS[parts.scheme]) if host else None


def _origin_of_entry(entry: str) -> UrlOrigin | None:
    full = entry if "://" in entry else f"https://{entry}"
    origin = origin_of_url(full)
    # An entry names a host; a path or a name and password would suggest a limit that is not kept.
    return origin if origin and urlsplit(full).path in {"", "/"} and "@" not in full else None


@dataclass(frozen=True, slots=True)
class Trust:
    """The user's allowances.

    Attributes:
        hosts: origins allowed for every provider.
        provider_hosts: origins allowed for one provider, because the user named them as its address.
        model_dirs: absolute directories below which a repository may name a model.
    """

    hosts: frozenset[UrlOrigin] = frozenset()
    provider_hosts: Mapping[str, frozenset[UrlOrigin]] | None = None
    model_dirs: tuple[str, ...] = ()

    @classmethod
    def build(
        cls,
        *,
        hosts: Iterable[str],
        model_dirs: Iterable[str],
        urls: Iterable[tuple[str, str | None]],
    ) -> Trust:
        """The allowances that a user's settings amount to; what is no host or no absolute directory allows nothing.

        Args:
            hosts: `trust.hosts`.
            model_dirs: `trust.model_dirs`.
            urls: providers and the addresses that the user gave them.
        """
        by_provider: dict[str, set[UrlOrigin]] = {}
        for provider, url in urls:
            origin = origin_of_url(url) if url else None
            if origin is not None:
                by_provider.setdefault(provider, set()).add(origin)
        return cls(
            frozenset(origin for origin in map(_origin_of_entry, hosts) if origin is not None),
            {provider: frozenset(origins) for provider, origins in by_provider.items()},
            tuple(path for path in map(os.path.expanduser, model_dirs) if os.path.isabs(path)),
        )

    def allows_url(self, provider: str, url: str) -> bool:
        """Whether the user allowed that a provider's text and key are sent to the host of a URL.

        Loopback and a provider's own well-known host are not decided here: they need no entry.
        """
        origin = origin_of_url(url)
        if origin is None:
            return False
        return origin in self.hosts or origin in (self.provider_hosts or {}).get(provider, frozenset())

    def allows_model_dir(self, directory: str | os.PathLike[str]) -> bool:
        """Whether a directory lies, links resolved, in one that the user allowed."""
        real = os.path.normcase(os.path.realpath(directory))
        for allowed in self.model_dirs:
            base = os.path.normcase(os.path.realpath(allowed))
            try:
                if os.path.commonpath([real, base]) == base:
                    return True
            except ValueError:  # another drive
                continue
        return False

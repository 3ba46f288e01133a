"""What may leave the machine, and who may be asked: the policy, and the user's consent.

Two questions, both answered before a connection is opened:

* policy (`security.remote_embedding_policy`): may this kind of text go to a remote provider at all? Documents and
  queries may, masked, unless the policy is `local-only`; artifacts and evidence never (contract A11).
* consent: did whoever runs ragit, and not the repository, agree that this address is contacted? A cloned
  `.ragit/config.toml` sends nothing anywhere. Consent is one of

      trust.hosts names the host                            user configuration or RAGIT_TRUST_HOSTS
      embedding.base_url comes from the user                the user chose the address for ragit, and for this provider
      embedding.provider comes from the user, and           the address is the provider's own, or the user named it
                                                            (OPENAI_BASE_URL, OLLAMA_BASE_URL)

  Without it only the usual address of Ollama on this machine is contacted, and an address on this machine that the
  user named. A repository cannot aim requests at other services on this machine.

Link-local addresses and the metadata services of clouds are contacted under no circumstances.
"""

from __future__ import annotations

from typing import Final, Literal
from urllib.parse import urlsplit

from ragit_mcp.config import Config
from ragit_mcp.config.trust import origin_of_url
from ragit_mcp.embedding.addresses import EgressClass, is_loopback, is_never_contacted
from ragit_mcp.embedding.profile import Profile
from ragit_mcp.errors import EmbeddingError

__all__ = ["EgressRules", "Payload", "Policy", "may_leave"]

Policy = Literal["allow-sanitized", "local-only"]
#: What a text is, as far as leaving the machine goes.
Payload = Literal["durable-doc", "query", "artifact", "evidence"]

_MAY_LEAVE: Final = frozenset({"durable-doc", "query"})


def may_leave(policy: Policy, egress: EgressClass, payload: Payload) -> bool:
    """Whether a kind of text may be embedded under a policy; what stays on the machine always may."""
    return egress == "local" or (policy == "allow-sanitized" and payload in _MAY_LEAVE)


class EgressRules:
    """The two questions, for one profile under one configuration.

    Args:
        profile: the provider.
        config: policy, trust, and where the values come from.
    """

    def __init__(self, profile: Profile, config: Config) -> None:
        self._profile = profile
        self._policy: Policy = config.security.remote_embedding_policy
        self._refusal = _refusal(profile, config)

    @property
    def consented(self) -> bool:
        """Whether the provider may be contacted as far as the user is concerned; True where there is nobody to contact."""
        return self._refusal is None

    def may_embed(self, payload: Payload) -> bool:
        """Whether the policy lets a kind of text be embedded; if not, candidates of that kind rank by keywords."""
        return may_leave(self._policy, self._profile.egress, payload)

    def require_policy(self, payload: Payload) -> None:
        """Refuse what the policy keeps on the machine.

        Raises:
            EmbeddingError: `EGRESS_NOT_ALLOWED`.
        """
        if not self.may_embed(payload):
            local_only = self._policy == "local-only"
            raise EmbeddingError(
                "EGRESS_NOT_ALLOWED",
                "security.remote_embedding_policy keeps text on this machine, but the embedding provider is remote."
                if local_only
                else "Text of this kind is never sent to a remote embedding provider.",
                details={"provider": self._profile.provider, "reason": "policy" if local_only else "payload"},
                recovery="ragit config set embedding.provider wordllama" if local_only else None,
            )

    def require_consent(self) -> None:
        """Refuse an address that the user has not agreed to.

        Raises:
            EmbeddingError: `EGRESS_NOT_ALLOWED`; `details.host` names the host, for the user to judge.
        """
        if self._refusal is not None:
            host = (urlsplit(self._profile.base_url or "").hostname or "")[:253]
            raise EmbeddingError(
                "EGRESS_NOT_ALLOWED",
                "The embedding service is at an address that is never contacted."
                if self._refusal == "never"
                else "The embedding service was chosen by the repository; nothing is sent until you allow its host "
                "outside the repository.",
                details={"provider": self._profile.provider, "reason": self._refusal, "host": host},
                recovery="ragit config set embedding.provider wordllama"
                if self._refusal == "never"
                else None,
            )


def _refusal(profile: Profile, config: Config) -> Literal["consent", "never"] | None:
    url = profile.base_url
    if url is None:
        return None
    if is_never_contacted(url):
        return "never"
    if origin_of_url(url) in config.trust.hosts:
        return None
    loopback = is_loopback(url)
    chosen = config.chosen_by_user("embedding.provider")
    if profile.well_known and (loopback or chosen):
        return None
    chosen = chosen or loopback or config.chosen_by_user("embedding.base_url")
    return None if chosen and config.trust.allows_url(profile.provider, url) else "consent"

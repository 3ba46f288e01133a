"""What may be indexed, and what may leave: admission of documents and masking at the boundary.

* `boundary` - every reply, error and log line passes through `masked_reply`, `masked_text` or `MaskingFormatter`, and
  so does every text before it reaches the index, the cache or an embedding provider. The rules are mcpkit's.
* `admission` - a document is admitted, admitted masked, or kept out, by its path and by the credentials it holds.

Neither reads or writes a file, so both the server and the indexer may use them.
"""

from ragit_mcp.safety.admission import (
    BLOCKED_TEXT,
    Action,
    AdmissionMode,
    AdmissionReport,
    Decision,
    Outcome,
    Reason,
    admit_artifact_text,
    decide,
    outcome_of,
)
from ragit_mcp.safety.boundary import MaskedReply, MaskingFormatter, Redaction, masked_reply, masked_text

__all__ = [
    "BLOCKED_TEXT",
    "Action",
    "AdmissionMode",
    "AdmissionReport",
    "Decision",
    "MaskedReply",
    "MaskingFormatter",
    "Outcome",
    "Reason",
    "Redaction",
    "admit_artifact_text",
    "decide",
    "masked_reply",
    "masked_text",
    "outcome_of",
]

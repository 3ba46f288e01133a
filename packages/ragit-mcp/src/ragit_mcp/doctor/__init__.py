"""`ragit doctor`: one check for each thing that can be wrong, and the command that helps (contract B, names of F8).

Reading only. A check never raises: what it cannot find out is a failed check.

    examination   `examine`: runs the checks in order
    checks        the checks, one function each
    findings      what a check has to say
"""

from __future__ import annotations

from ragit_mcp.doctor.examination import examine
from ragit_mcp.doctor.findings import Check, Examination

__all__ = ["Check", "Examination", "examine"]

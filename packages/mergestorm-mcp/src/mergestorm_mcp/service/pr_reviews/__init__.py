"""Reviews of pull requests: passes, findings, and audited dismissals."""

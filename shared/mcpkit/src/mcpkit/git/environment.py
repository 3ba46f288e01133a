"""What git is told, so that nothing a repository or a user configured can run or change an answer.

The environment starts empty and takes over a short list of variables that name no configuration. Everything else
(`GIT_DIR`, `GIT_CONFIG_*`, `GIT_EXTERNAL_DIFF`, `GIT_TRACE*`, ...) stays behind by construction. Command-line switches
outrank every configuration file, `include.path` and `includeIf` included.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

#: Oldest git whose switches used here all work: `GIT_CONFIG_GLOBAL` came with 2.32.
MINIMUM_GIT_VERSION: Final = (2, 32)

# Git for Windows understands this name too.
NOWHERE: Final = "/dev/null"

_INHERITED: Final = (
    "PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR",
    "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP",
)  # fmt: skip

_FIXED: Final[Mapping[str, str]] = {
    # Neither the user's nor the system's configuration, and no home in which to look for one.
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": NOWHERE,
    "GIT_CONFIG_GLOBAL": NOWHERE,
    "GIT_ATTR_NOSYSTEM": "1",
    "HOME": NOWHERE,
    "XDG_CONFIG_HOME": NOWHERE,
    # Nobody is asked, nothing is shown, nothing is edited.
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_ADVICE": "0",
    # No transport at all: a missing object of a partial clone is missing and is not fetched. The first switch is
    # young, the second works in every version.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_SSH_COMMAND": "false",
    # Reading leaves no index refreshed and no lock behind.
    "GIT_OPTIONAL_LOCKS": "0",
    # An object id stands for its own content and a commit for its own parents.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": NOWHERE + "/none",
    # Paths mean themselves, and the current directory is not taken for a work tree.
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_IMPLICIT_WORK_TREE": "0",
    # A reflog entry needs somebody; without this git asks the host for the user's full name.
    "GIT_AUTHOR_NAME": "mcpkit",
    "GIT_AUTHOR_EMAIL": "mcpkit@localhost",
    "GIT_COMMITTER_NAME": "mcpkit",
    "GIT_COMMITTER_EMAIL": "mcpkit@localhost",
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "TZ": "UTC",
}

_CONFIGURATION: Final = (
    # Programs.
    "core.fsmonitor=false",
    f"core.hooksPath={NOWHERE}",
    "core.pager=cat",
    "core.editor=:",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.askPass=",
    "core.alternateRefsCommand=",
    "credential.helper=",
    "credential.interactive=false",
    "diff.external=",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "log.showSignature=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    # Transports.
    "protocol.allow=never",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    # A bare repository is used when it was named, never because it was met.
    "safe.bareRepository=explicit",
    # Files outside the object database that would change an answer.
    f"core.attributesFile={NOWHERE}",
    f"core.excludesFile={NOWHERE}",
    "core.untrackedCache=false",
    # The form of the answer.
    "core.quotePath=false",
    "core.useReplaceRefs=false",
    "color.ui=false",
    "log.mailmap=false",
    "diff.suppressBlankEmpty=false",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.orderFile=",
)


def hermetic_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The whole environment of a git process, nothing of it a repository's."""
    kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {**kept, **_FIXED, **(extra or {})}


def hermetic_switches() -> list[str]:
    """Options that stand between `git` and the subcommand."""
    return ["--no-pager", *(word for setting in _CONFIGURATION for word in ("-c", setting))]

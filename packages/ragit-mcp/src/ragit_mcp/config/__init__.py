"""Configuration: `.ragit/config.toml`, the user's own file and the environment as one checked, typed view.

schema      every setting, once
reading     the sources and their order: `load_config`
view        the typed result, with the origin of each value
trust       what only the user can allow
toml_text   TOML as text
editing     `config set` and the file of `init`; imported by writers only
"""

from __future__ import annotations

from ragit_mcp.config.reading import CONFIG_PATH, load_config, user_config_path
from ragit_mcp.config.schema import PROVIDERS, SETTINGS, Setting, Value
from ragit_mcp.config.trust import Trust
from ragit_mcp.config.view import Config, ConfigWarning, Origin

__all__ = [
    "CONFIG_PATH",
    "PROVIDERS",
    "SETTINGS",
    "Config",
    "ConfigWarning",
    "Origin",
    "Setting",
    "Trust",
    "Value",
    "load_config",
    "user_config_path",
]

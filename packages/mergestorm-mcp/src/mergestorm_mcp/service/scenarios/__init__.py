"""Scenarios: YAML files that say what a new service holds and what happens in it.

text        YAML read strictly, with the line of every value
form        what a scenario may say
loader      finds a bundled or a given file and checks it
seed        makes a service what its scenario says
bundled     the files that come with the package
"""

from mergestorm_mcp.service.scenarios.form import Scenario
from mergestorm_mcp.service.scenarios.loader import ScenarioError, load, names
from mergestorm_mcp.service.scenarios.seed import Seeded, seed

__all__ = ["Scenario", "ScenarioError", "Seeded", "load", "names", "seed"]

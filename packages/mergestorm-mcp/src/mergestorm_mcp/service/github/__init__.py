"""What stands for GitHub: repositories with real git behind them, pull requests, issues, checks and permissions.

    tables      the rows
    bare        one bare repository: refs, merges, replays, differences
    trees       new trees out of an old one and changes, as objects and not yet stored
    packing     many objects stored by one git process
    people      who a commit is made by
    hub         all repositories and their rows
    access      who may see and write, and whether the App can
    pull_opening  pull requests opened by the App
    claims      whose pull requests of branches will be

A branch stands where git says it stands; no row repeats it. A ref moves first and rows follow, so that a service killed
between the two finds, on the next try, the ref already there. Git is asked through `mcpkit.git` only.
"""

"""What a command line shows to people and pipes: whole, in UTF-8, and with nothing in it that a terminal would obey.

    output     stdout as UTF-8 whatever the locale is, readers that go away, full disks
    visible    text of somebody else with every invisible character shown as its code
    screen     tables and coloured lines (extra `terminal`, for rich)

None of it knows of MCP. Importing the package imports nothing; `output` and `visible` need the standard library only, so
that `--version` and `--help` stay prompt, and `screen` is imported by whoever really draws.
"""

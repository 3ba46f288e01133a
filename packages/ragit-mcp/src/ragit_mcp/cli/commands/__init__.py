"""One module a command; each has `run(context) -> Answer` and draws its own answer."""

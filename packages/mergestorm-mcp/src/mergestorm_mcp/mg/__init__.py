"""The command line `mg`: for people at a terminal, and for scripts and agents that read its JSON and exit codes.

main        entry point: parses, runs one command, turns the outcome into output and an exit code
parser      commands, flags and help; standard library only, so that `--help` is prompt
terminal    what is printed where, and made fit to be printed
outcome     what a command hands back
place       which checkout the person stands in
twins       commands that are a tool of the server by another name: same arguments, same document, same refusals
login, reviews, stacks
            commands that wait, ask or store, and so are more than a tool
"""

"""Publications: a branch that is sent as data is written as real commits, gets its pull request and its stack.

    request         the request's shape
    limits          how much may be sent
    paths           which paths a commit may hold
    commit_object   what the bytes of a commit say
    check           the request against its limits and against itself, before anything is looked up
    rebuild         the commits' objects, every tree verified
    standing        what the branch on GitHub is to the sent one
    publish         one publication
    status          how far it got
    told            its pull request and stack, as both answers tell them

A refusal leaves refs and rows as they were. The ref moves before the rows are kept, so a service that is killed in between
has written a branch that is exactly what the next try wants: it goes on from there.
"""

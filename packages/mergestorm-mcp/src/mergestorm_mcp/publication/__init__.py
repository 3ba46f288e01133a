"""Publishing a branch without credentials for GitHub: its commits are read here and written by the service.

    limits      what a publication may hold
    refusals    why one is refused here, by code
    range       which commits of a branch are published, and onto what
    commits     a commit as the service wants it, and the id it will have there
    reading     changes and contents of those commits, sized before they are read
    wire        the request and both answers; the shapes are ours until a schema is published
    publish     one publication, verified, and the reading of its state

Reading is plumbing on the object database (`mcpkit.git`): no program of the repository runs, nothing touches the
network, and neither gh nor git's push or fetch is ever started. Rules: contract section 5.
"""

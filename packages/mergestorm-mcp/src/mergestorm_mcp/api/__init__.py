"""The service's HTTP interface: one module for how calls are made, one a resource for what is called.

    client         connections, deadlines, keys, what counts as an answer
    refusals       what the service says when it says no
    paths          addresses of resources
    me, reviews, pr_reviews, settings, stacks, device
                   resources whose shape the contract fixes
    issues, repo_settings
                   resources whose shape is ours until one is published; nothing else knows it

Domain code: it raises `mergestorm_mcp.errors.CommandError` and knows nothing of MCP. Imported on first use, because
httpx is not needed for a handshake.
"""

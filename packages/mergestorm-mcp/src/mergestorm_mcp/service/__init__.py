"""A Mergestorm of one's own: a real service on a loopback address, with SQLite and git repositories behind it.

    store, timeline, changes    one database file, what is due later, who waits for news
    pace, world, assembly       time, everything together, and how it is put together
    accounts, settings          who asks, with which key, under which settings
    local_reviews, issues       reviews of diffs, issues made for a caller
    knobs                       trouble on request: outages, rate limits, latency
    http                        the API and the approval page

The service shares no parsing code and no models with the client of this package, so that a mistake cannot hide on both
sides; mcpkit is all they have in common.
"""

"""Stacks of pull requests: what holds one up, what would repair it, and how to wait until it lands.

    model            tolerant readers of the service's stacks, layers, units and queue entries
    candidate        which layer is next to be merged
    agents           who is at work on a layer
    layer_blockers   why a layer cannot move (contract 3.15, table A), with `seam_gate` and `land_gate`; `verdicts` is
                     the form of an answer
    bounces          what the merge queue threw back, and whether that switched Auto land off
    auto_land        what Auto land waits for
    queue_wait       how long the merge queue has taken
    blockers         all of it together: a pure function of stack, queue, cursor and time
    repair           what to do about a blocker, with `live_parent` (merge from where) and `handoff_words`
    obligation       the watch contract: when a stack is done, and the next call until then
    cursor, envelope what a wait remembers and returns
    watch            the waiting itself; `watch_loop` is `mg stack watch`
    lines            one line about a stack, its queue and its blockers
    changing, reading, waiting
                     what the tools and commands about stacks do: ask the service, assess, answer

Everything but `reader`, `watch`, `watch_loop` and the last three is pure, and nothing here knows of MCP. What the service says
is taken as it comes: a field that is missing or of another type reads as "not known", never as an exception.
"""

"""Vectors of texts that were embedded before, on disk (contract A12; layout ours).

    <cache_dir>/v1/<namespaceId>/namespace.json        whose vectors these are; for people and `doctor`
    <cache_dir>/v1/<namespaceId>/<number>-<random>.seg     segments: written once, published by renaming, never changed

`segments` is the format, `reading` the look-up, `writing` adds segments and merges small ones. What serves reading
imports `reading` only. Nothing is locked: a segment that two processes write twice is only there twice.
"""

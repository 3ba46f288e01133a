"""Reviews: the envelope of a local job, and the waits for a job or for a pull request's review."""

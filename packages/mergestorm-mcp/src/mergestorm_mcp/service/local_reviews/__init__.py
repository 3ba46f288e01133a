"""Reviews of a diff that a client sends: jobs, and the threads they belong to.

tables      what is stored
jobs        submitting once, reading, listing
reviewer    what happens to a job as time goes by, and what it finds
threads     the reviews of one branch, in a row
"""

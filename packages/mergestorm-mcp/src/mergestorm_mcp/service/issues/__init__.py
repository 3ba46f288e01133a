"""Issues that the Surge App makes on GitHub for a caller.

making      who may have one made, once per title while it is open
"""

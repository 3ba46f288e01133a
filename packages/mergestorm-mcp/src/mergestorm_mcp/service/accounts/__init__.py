"""Accounts, their keys, their credits, and logging in by device code.

tables      what is stored
keys        making a key, finding out whose key it is
credits     what reviews cost, what is left
devices     the device login: codes, approval, the key handed over once
"""

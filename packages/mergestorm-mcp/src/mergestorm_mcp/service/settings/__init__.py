"""Settings of an account, and of a repository within an account.

catalog     every setting: its name, type, range and default
tables      what is stored: only what was set
values      reading and changing them; which value counts where both are set
"""

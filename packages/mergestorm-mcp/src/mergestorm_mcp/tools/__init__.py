"""The tools of the server, one module a group. They translate: everything about reviews and stacks lives elsewhere."""

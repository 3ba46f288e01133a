"""The page of the service: what it shows, what a person can do on it, and the files it is made of."""

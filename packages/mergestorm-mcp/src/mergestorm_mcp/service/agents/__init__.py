"""The simulated agents: Vortex reviews, Cyclone patches, CI checks, and Surge promotes, queues and lands."""

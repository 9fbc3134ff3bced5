"""Events of agents on their way to followers, and the gateway's own on their way to the
recorder."""

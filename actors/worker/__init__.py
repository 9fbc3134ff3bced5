"""The worker's process: one worker, one node at a time, one conversation for its whole life."""

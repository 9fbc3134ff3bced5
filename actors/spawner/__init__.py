"""The spawner: an interpreter with everything imported, from which actors are forked."""

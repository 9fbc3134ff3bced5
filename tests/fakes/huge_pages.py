"""Imported last where processes are forked: its memory is on huge pages, like a spawner's."""

from actors.spawner.huge_pages import collapse

collapse()

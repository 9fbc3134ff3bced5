"""Imported last where processes are forked: its memory lies on huge pages, as that of spawners."""

from actors.spawner.huge_pages import collapse

collapse()

"""Launchers on real clusters; `make clusters` runs them."""

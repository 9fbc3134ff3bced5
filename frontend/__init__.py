"""The web UI; `build.py` builds it."""

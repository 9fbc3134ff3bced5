"""`agiraph run`: where it happens, its progress, its outcome."""

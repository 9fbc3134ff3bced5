"""Imported first where processes are forked: a fifth of an import goes to the search for garbage."""

import gc

gc.disable()

"""Imported first where processes are forked: a fifth of an import goes to the garbage collector."""

import gc

gc.disable()

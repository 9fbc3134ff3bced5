"""The process of a local model: llama.cpp's server on the loopback, for whoever started it.

    python -m agiraph.llm.providers.local.serving FILE CONTEXT THREADS

It says where it listens and with which key, as one JSON line on stdout (or `{"error": TEXT}`), and
ends with its stdin: when its starter closes it, or dies in whatever way.
"""

import json
import os
import secrets
import sys
from typing import Any

KEPT_OUTPUT = 1


def main(arguments: list[str]) -> None:
    """Serve until stdin ends."""
    answers = os.fdopen(os.dup(KEPT_OUTPUT), "w")
    os.dup2(2, KEPT_OUTPUT)  # what the engine prints must not get between
    try:
        said = _serve(*arguments)
    except Exception as error:  # whatever an engine makes of a file: its starter is told
        said = {"error": f"{type(error).__name__}: {error}"}
    answers.write(json.dumps(said) + "\n")
    answers.flush()
    if "error" not in said:
        sys.stdin.buffer.read()
    os._exit(0)  # the engine's threads wait for nobody


def _serve(file: str, context: str, threads: str) -> dict[str, Any]:
    import xllamacpp

    key = secrets.token_urlsafe(32)
    params = xllamacpp.CommonParams()
    params.model.path = file
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.n_ctx = int(context)
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(threads)
    params.warmup = False
    params.verbosity = 0
    params.endpoint_slots = False
    params.ui = False
    params.offline = True
    global _running  # the engine stops when its last reference goes
    _running = xllamacpp.Server(params)
    return {"url": _running.listening_address, "key": key}


_running: Any = None

if __name__ == "__main__":
    main(sys.argv[1:])

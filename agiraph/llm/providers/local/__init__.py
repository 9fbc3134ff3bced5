"""The local model: a small language model on this machine's processor; no network and no key.

`serving` is the process that runs it (llama.cpp's own server, from the package `xllamacpp`),
`process` starts and stops that process, `schemas` defines the shape of an answer (a grammar allows
only this shape), `prompts` renders a request for a model of that size and reads its answer,
`provider` is the Provider. `agiraph.models.local_weights` finds its file. docs/models.md describes
the abilities of such a model, which are few.
"""

"""The broker's HTTP door for outside agents (docs/door.md).

An outside agent (Claude Code, Codex, Gemini CLI, any program that speaks to Anthropic, OpenAI or
Google) is a child of its worker, and has no key of a model service. Its worker opens a door for it
by message and gets a loopback URL and a token, which stand in for the service's own. `door` keeps
the doors and the server; `table` is what of them outlives the process; `server` is uvicorn,
imported when the first door is opened; `gate` looks at each request before anything else does;
`exchange` is one model call, which goes the way of all calls (`actors.broker.calls`): retries,
pacing, budget, metering.
"""

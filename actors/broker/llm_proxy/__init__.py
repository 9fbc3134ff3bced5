"""The LLM proxy: the broker's HTTP server for external agents (docs/external-agents.md).

An external agent (Claude Code, Codex, Gemini CLI, any program that speaks to Anthropic, OpenAI or
Google) is a child process of its worker, and has no key of a model service. Its worker opens a
grant for it by message and receives a loopback URL and a token, which replace the URL and key of
the service. `proxy` holds the grants and the calls made with them; `grant_table` stores the grants
across restarts; `app` is the HTTP application, imported when the first grant is opened; `call` is
one model call, made like all calls (`actors.broker.calls`): retries, queues, budgets, metering.
"""

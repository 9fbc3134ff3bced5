"""The serving side of the HTTP API, without the bus: credentials and scopes, middleware, the
OpenAPI document, downloads, editing of settings."""

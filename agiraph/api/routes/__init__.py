"""The endpoints of the HTTP API, a file a family; `agiraph.api.app` lists the families."""

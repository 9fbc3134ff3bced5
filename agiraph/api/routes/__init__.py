"""The endpoints of the HTTP API, one file per family; `agiraph.api.app` lists the families."""

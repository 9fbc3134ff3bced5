"""The endpoints of the HTTP API, a file a family; `actors.gateway.http.app` lists the families."""

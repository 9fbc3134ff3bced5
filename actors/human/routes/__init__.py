"""The endpoints of the HTTP API, a file a family; `actors.human.app` lists the families."""

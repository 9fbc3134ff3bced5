"""What a node is given: its references, and what stands behind each."""

from actors.gateway.files.browser import browse
from agiraph.core.models import WorkNode
from agiraph.http.api import ApiError, FileContentView, RefView
from agiraph.storage.home import RunHome


def ref_views(run: RunHome, node: WorkNode) -> list[RefView]:
    """Return a node's references, in the order in which they were given."""
    return [_view(run, name, path) for name, path in node.refs.items()]


def _view(run: RunHome, name: str, path: str) -> RefView:
    """Return one reference; a path outside of the run, or of nothing yet, has no file behind it."""
    try:
        found = browse(run.path, path, limit=1)
    except ApiError:
        return RefView(name=name, path=path)
    size = found.size if isinstance(found, FileContentView) else None
    return RefView(name=name, path=path, is_there=True, size=size)

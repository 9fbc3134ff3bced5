"""The records of the HTTP API: one frozen record per request and per answer.

The gateway (`agiraph/api`) and the client (`agiraph.http.client`) exchange only these. Every error
is a `ProblemView` (RFC 9457). The JSON field `from` is `sender` in Python. Lists are JSON arrays;
unbounded lists come in pages with a cursor: pass `next` as `after`.
"""

from agiraph.http.api.access import *
from agiraph.http.api.agents import *
from agiraph.http.api.base import *
from agiraph.http.api.budgets import *
from agiraph.http.api.channels import *
from agiraph.http.api.conversation import *
from agiraph.http.api.hosts import *
from agiraph.http.api.inputs import *
from agiraph.http.api.knowledge import *
from agiraph.http.api.live import *
from agiraph.http.api.roles import *
from agiraph.http.api.settings import *
from agiraph.http.api.system import *
from agiraph.http.api.work import *
from agiraph.http.errors import *

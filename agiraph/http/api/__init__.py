"""What the HTTP API takes and gives: one frozen record per request and per answer.

The gateway (`agiraph/api`) and the client (`agiraph.http.client`) both speak these and nothing
else. Every error is a `ProblemView` (RFC 9457). Where JSON says `from`, Python says `sender`. Lists
come as JSON arrays; what can grow without end comes in pages with a cursor: pass `next` as `after`.
"""

from agiraph.http.api.access import *
from agiraph.http.api.agents import *
from agiraph.http.api.base import *
from agiraph.http.api.budgets import *
from agiraph.http.api.channels import *
from agiraph.http.api.context import *
from agiraph.http.api.conversation import *
from agiraph.http.api.hosts import *
from agiraph.http.api.inputs import *
from agiraph.http.api.live import *
from agiraph.http.api.settings import *
from agiraph.http.api.system import *
from agiraph.http.api.team import *
from agiraph.http.api.work import *
from agiraph.http.errors import *

"""The page on which a one-time link becomes a session.

The code is behind the `#` of the link, which a browser sends to nobody: no log, no proxy and no
Referer ever holds it. The page takes it out of the address and the history, and posts it.
"""

import base64
from hashlib import sha256
from html import escape
from typing import Final

from actors.gateway.auth.credentials import Principal
from agiraph.core.clock import iso

STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem;"
    "color:#222;background:#fff}"
    "input,button{font:inherit;padding:.4rem .6rem}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}}"
)
SCRIPT: Final = (
    "const code=location.hash.slice(1),form=document.forms.login;"
    'if(code&&form){history.replaceState(null,"","/login");form.code.value=code;form.submit()}'
)


def _source(text: str) -> str:
    digest = base64.b64encode(sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


POLICY: Final = (
    f"default-src 'none'; script-src {_source(SCRIPT)}; style-src {_source(STYLE)}; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {"Content-Security-Policy": POLICY, "Cross-Origin-Opener-Policy": "same-origin"}


def login_page(complaint: str = "") -> str:
    """Return the page that takes a code."""
    said = f"<p role=alert><strong>{escape(complaint)}</strong></p>" if complaint else ""
    return _page(
        f"{said}<p>Type <code>agiraph login</code> where Agiraph runs, and open the link that it"
        " prints; or paste its code here.</p>"
        '<form name="login" method="post" action="/login">'
        '<label>Code <input name="code" type="password" autocomplete="off" required></label> '
        "<button>Log in</button></form>"
        f"<script>{SCRIPT}</script>"
    )


def inside_page(caller: Principal) -> str:
    """Return the page of one who is logged in."""
    until = f" until {iso(caller.expires_at)}" if caller.expires_at is not None else ""
    return _page(
        f"<p>This browser is logged in{until}. It may <strong>{caller.scope}</strong>.</p>"
        '<form method="post" action="/logout"><button>Log out</button></form>'
    )


def _page(body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Agiraph: log in</title>'
        f"<style>{STYLE}</style></head><body><h1>Agiraph</h1>{body}</body></html>"
    )

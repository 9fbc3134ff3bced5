"""The login page, which turns a one-time link into a browser login and then opens the web UI.

The code follows the `#` of the link, which a browser never sends: no log, proxy or Referer contains
it. The page removes it from the address and the history, and posts it.
"""

import base64
from hashlib import sha256
from html import escape
from typing import Final

from agiraph.api.auth.credentials import Principal
from agiraph.core.clock import iso

STYLE: Final = (
    ":root{color-scheme:light dark;--text:#1c1e21;--soft:#5c6370;--line:#d5d8de;--back:#f6f7f8;"
    "--card:#fff;--accent:#3451d1;--bad:#b3261e}"
    "body{font:16px/1.5 system-ui,sans-serif;margin:0;min-height:100vh;display:grid;"
    "place-items:center;color:var(--text);background:var(--back)}"
    "main{box-sizing:border-box;width:min(28rem,100vw - 2rem);padding:2rem;background:var(--card);"
    "border:1px solid var(--line);border-radius:12px}"
    "h1{font-size:1.25rem;margin:0 0 1rem}p{margin:0 0 1rem}a{color:var(--accent)}"
    "label{display:block;color:var(--soft);font-size:.875rem}"
    "input,button{font:inherit;padding:.5rem .75rem;border:1px solid var(--line);"
    "border-radius:8px}input{box-sizing:border-box;width:100%;margin:.25rem 0 1rem;"
    "color:inherit;background:transparent}"
    "button{color:#fff;background:var(--accent);border-color:transparent;cursor:pointer}"
    ".bad{color:var(--bad)}code{font-size:.9em}"
    "@media(prefers-color-scheme:dark){:root{--text:#e6e7ea;--soft:#a0a6b1;--line:#363a43;"
    "--back:#131519;--card:#1b1e24;--accent:#8ea2ff;--bad:#ff8a80}button{color:#131519}}"
)
SCRIPT: Final = (
    "const code=location.hash.slice(1),form=document.forms.login;"
    "if(code&&form){history.replaceState(null,'',location.pathname+location.search);form.code.value=code;form.submit()}"
)


def _source(text: str) -> str:
    digest = base64.b64encode(sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


POLICY: Final = (
    f"default-src 'none'; script-src {_source(SCRIPT)}; style-src {_source(STYLE)}; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {"Content-Security-Policy": POLICY, "Cross-Origin-Opener-Policy": "same-origin"}


def login_page(then: str, *, complaint: str = "", caller: Principal | None = None) -> str:
    """Return the page that accepts a code and continues to the path `then`.

    `complaint`: why the previous code was refused. `caller`: the login of this browser, if any.
    """
    said = f'<p class="bad" role="alert"><strong>{escape(complaint)}</strong></p>'
    parts = [said if complaint else "", _inside(caller, then) if caller is not None else ""]
    parts += [
        "<p>Type <code>agiraph ui</code> where Agiraph runs, and open the link that it prints"
        " (<code>agiraph login</code> makes one for another browser); or paste its code here.</p>",
        '<form name="login" method="post" action="/login">',
        f'<input type="hidden" name="next" value="{escape(then, quote=True)}">',
        '<label>Code <input name="code" type="password" autocomplete="off" required></label>',
        f"<button>Log in</button></form><script>{SCRIPT}</script>",
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Agiraph: log in</title>'
        f"<style>{STYLE}</style></head><body><main><h1>Agiraph</h1>{''.join(parts)}</main></body>"
        "</html>"
    )


def _inside(caller: Principal, then: str) -> str:
    """Return the HTML for a browser that is logged in: the login, a link to `then`, a button."""
    until = f" until {iso(caller.expires_at)}" if caller.expires_at is not None else ""
    return (
        f"<p>This browser is logged in{until}. It may <strong>{caller.scope}</strong>."
        f' <a href="{escape(then, quote=True)}">Open the web UI</a></p>'
        '<form method="post" action="/logout"><p><button>Log out</button></p></form>'
    )

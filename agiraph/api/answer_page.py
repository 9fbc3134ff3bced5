"""HTML of the page behind an answer link, without scripts. Pure."""

import base64
from hashlib import sha256
from html import escape

from agiraph.core.clock import iso
from agiraph.core.models import Question
from agiraph.core.naming import with_unseen_shown
from agiraph.http.api.access import UI_PATH

STYLE = (
    "body{font:17px/1.5 system-ui,sans-serif;max-width:40rem;margin:2rem auto;padding:0 1rem;"
    "color:#1a1a1a;background:#fff}"
    "blockquote{margin:1rem 0;padding:.8rem 1rem;background:#f3f4f6;border-radius:6px;"
    "white-space:pre-wrap;overflow-wrap:anywhere}"
    "button,textarea{font:inherit;border:1px solid #8a8f98;border-radius:6px;padding:.5rem .9rem}"
    "button{background:#fff;cursor:pointer;margin:.2rem .4rem .2rem 0}"
    "textarea{width:100%;box-sizing:border-box;min-height:6rem}"
    ".small{color:#5c6370;font-size:.9rem}a{color:inherit}"
    "@media(prefers-color-scheme:dark){body{background:#16181d;color:#e6e6e6}"
    "blockquote{background:#23262d}button,textarea{background:#16181d;color:inherit}}"
)
_DIGEST = base64.b64encode(sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)


def question_page(question: Question, agent: str, problem: str = "") -> str:
    """Return the HTML page of a question: a form while it is open, otherwise its outcome.

    `problem` is the reason why the last answer was not accepted.
    """
    parts = [_asked(question, agent)]
    if problem:
        parts.append(f"<p><strong>{_shown(problem)}</strong></p>")
    if question.status == "open":
        parts.append(_form(question))
    else:
        parts.append(f"<p>{_shown(became_of(question))}</p>")
    parts.append(_ui_link(question, agent))
    return page(f"{question.from_id} asks", "".join(parts))


def thanks_page(question: Question, agent: str) -> str:
    """Return the page for an accepted answer."""
    answer = f"<p>Your answer:</p><blockquote>{_shown(question.answer or '')}</blockquote>"
    then = "<p>It is on its way; you can close this page.</p>"
    return page("Thank you", _asked(question, agent) + answer + then + _ui_link(question, agent))


def page(title: str, body: str) -> str:
    """Return a whole HTML page; `title` is text, `body` is HTML."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="robots" content="noindex">'
        f"<title>{_shown(title)}</title><style>{STYLE}</style></head>"
        f"<body><main><h1>{_shown(title)}</h1>{body}</main></body></html>"
    )


def _shown(text: str) -> str:
    """Return text from outside as escaped HTML with its invisible characters shown."""
    return escape(with_unseen_shown(text))


def became_of(question: Question) -> str:
    """Return a sentence about the outcome of a question that is no longer open."""
    if question.status == "answered":
        when = f" at {iso(question.answered_at)}" if question.answered_at else ""
        where = f", over {question.answered_via}" if question.answered_via else ""
        return f"It was answered by {question.answered_by}{when}{where}: {question.answer}"
    if question.status == "withdrawn":
        return "It was withdrawn: no entity waits for an answer."
    otherwise = f" The default applies: {question.default}" if question.default else ""
    return f"You have not answered in time.{otherwise}"


def _asked(question: Question, agent: str) -> str:
    where = f"{question.from_id} of {agent}, {iso(question.asked_at)}"
    about = question.about
    action = (about.diff or about.arguments) if about is not None else ""
    shown = f"<pre>{_shown(action)}</pre>" if action else ""
    asked = f"<blockquote>{_shown(question.question)}</blockquote>"
    return f'<p class="small">{_shown(where)}</p>{asked}{shown}'


def _ui_link(question: Question, agent: str) -> str:
    """Return a link to the agent in the web UI; the browser sends no Referer along."""
    where = escape(f"{UI_PATH}agents/{question.agent}", quote=True)
    said = f"{agent} in the web UI"
    return f'<p class="small"><a rel="noreferrer" href="{where}">{_shown(said)}</a></p>'


def _form(question: Question) -> str:
    options = [
        f'<button name="option" value="{escape(text, quote=True)}">{_shown(text)}</button>'
        for text in question.options
    ]
    choice = f"<p>{''.join(options)}</p>" if options else ""
    # Enter presses the first button of a form: it must never choose an option.
    return (
        f'<form method="post">{choice}</form><form method="post">'
        '<p><label for="answer">Your answer</label></p>'
        '<textarea id="answer" name="answer" required maxlength="20000"></textarea>'
        "<p><button>Send</button></p></form>"
    )

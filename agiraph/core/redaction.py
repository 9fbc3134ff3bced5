"""Redaction: recognizes secrets in texts and replaces them.

KINDS is the table, with one entry per service, and entries for our own tokens and links. A secret
without a recognizable format (a ticket in hexadecimal, AWS's secret keys) is recognized by the name
that it is assigned to. A pattern is tried only where one of its hints occurs, and is either bounded
or cannot fail after reading far, so the time is linear in the text. It uses the standard library
only, because the log does.
"""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

BLOT = "[redacted]"
SECRET_NAME = re.compile(
    r"(api_?key|secret|password|passwd|authorization|cookie|(^|_)(token|ticket|key)$)", re.I
)


class SecretKind(NamedTuple):
    """Secrets of one format, such as the keys of one service.

    `pattern` matches only where no letter or digit precedes. A text without any of `hints` is not
    searched.
    """

    hints: tuple[str, ...]
    pattern: re.Pattern[str]


def _kind(pattern: str, *hints: str) -> SecretKind:
    return SecretKind(hints, re.compile(f"(?<![A-Za-z0-9]){pattern}"))


KINDS: Final = {
    "API tokens, browser logins, login codes, the home's token": _kind(
        r"ag[blt]_[A-Za-z0-9_-]{8,}", "agl_", "agb_", "agt_"
    ),
    "door tokens": _kind(r"agd-[a-f0-9]{16,}", "agd-"),
    "answer links": _kind(r"WyJ[A-Za-z0-9_-]{8,400}\.[A-Za-z0-9_-]{20,}", "WyJ"),
    "webhook secrets": _kind(r"whsec_[A-Za-z0-9+/=]{16,}", "whsec_"),
    "bearer tokens": _kind(r"Bearer\s{1,4}[A-Za-z0-9._~+/=\-]{8,}", "Bearer"),
    "basic credentials": _kind(
        r"Basic\s{1,4}(?=[A-Z0-9+/]{0,40}[a-z][a-z0-9+/]{0,40}[A-Z])[A-Za-z0-9+/]{12,}={0,2}",
        "Basic",
    ),
    "JWT": _kind(r"eyJ[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{8,8000}(?:\.[A-Za-z0-9_-]*)?", "eyJ"),
    "AWS access keys": _kind(
        r"A[KSBC][IC]A[A-Z0-9]{16}(?![A-Za-z0-9])", "AKIA", "ASIA", "ABIA", "ACCA"
    ),
    "GitHub": _kind(r"gh[oprsu]_[A-Za-z0-9]{8,}", "gho_", "ghp_", "ghr_", "ghs_", "ghu_"),
    "GitHub, fine-grained": _kind(r"github_pat_[A-Za-z0-9_]{20,}", "github_pat_"),
    "GitLab": _kind(r"glpat-[A-Za-z0-9_-]{8,}", "glpat-"),
    "Anthropic": _kind(r"sk-ant-[A-Za-z0-9_-]{8,}", "sk-ant-"),
    "OpenAI and those like it": _kind(
        r"(?:sk|pk|rk)[-_](?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{8,}",
        *("sk-", "sk_", "pk-", "pk_", "rk-", "rk_"),
    ),
    "Google": _kind(r"AIza[A-Za-z0-9_-]{20,}", "AIza"),
    "Google, OAuth": _kind(r"ya29\.[A-Za-z0-9_-]{20,}", "ya29."),
    "xAI": _kind(r"xai-[A-Za-z0-9]{20,}", "xai-"),
    "Groq": _kind(r"gsk_[A-Za-z0-9]{20,}", "gsk_"),
    "Cerebras": _kind(r"csk-[A-Za-z0-9]{20,}", "csk-"),
    "NVIDIA": _kind(r"nvapi-[A-Za-z0-9_-]{20,}", "nvapi-"),
    "Perplexity": _kind(r"pplx-[A-Za-z0-9]{20,}", "pplx-"),
    "Replicate": _kind(r"r8_[A-Za-z0-9]{20,}", "r8_"),
    "Fireworks": _kind(r"fw_[A-Za-z0-9]{20,}", "fw_"),
    "Together": _kind(r"tgp_v1_[A-Za-z0-9_-]{20,}", "tgp_v1_"),
    "Hugging Face": _kind(r"hf_[A-Za-z0-9]{20,}", "hf_"),
    "Tavily": _kind(r"tvly-[A-Za-z0-9-]{16,}", "tvly-"),
    "Brave": _kind(r"BSA[A-Za-z0-9_-]{24,}", "BSA"),
    "Slack": _kind(r"xox[abeoprs]-[A-Za-z0-9-]{8,}", "xox"),
    "Slack's webhooks": _kind(
        r"hooks\.slack\.com/services/[A-Za-z0-9/]{20,}", "hooks.slack.com/services/"
    ),
    "Telegram": _kind(r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])", ":AA"),
    "SendGrid": _kind(r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,}", "SG."),
    "npm": _kind(r"npm_[A-Za-z0-9]{36}", "npm_"),
    "PyPI": _kind(r"pypi-AgE[A-Za-z0-9_-]{16,}", "pypi-AgE"),
    "DigitalOcean": _kind(r"do[opr]_v1_[a-f0-9]{32,}", "doo_v1_", "dop_v1_", "dor_v1_"),
    "private keys": _kind(
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,8000}"
        r"(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?",
        "PRIVATE KEY-----",
    ),
}

_LOGIN = re.compile(r"(?P<said>://[^\s/@:]{1,100}:)[^\s/@]{1,200}(?=@)")
_ASSIGNED = re.compile(
    r"""(?ix)
    (?P<said>(?:api_?key|access_?key|private_?key|secret|token|ticket|passw(?:or)?d|authorization)
      \\?["']?\s{0,3}[:=]\s{0,3}\\?["']?(?:token\s{1,3})?)
    (?=[A-Za-z+/_.=-]{0,60}[0-9])[A-Za-z0-9+][A-Za-z0-9+/_.=-]{15,}
    """
)
"""A value assigned to a name such as `aws_secret_access_key`, if the value could be a key."""
_NAMES: Final = ("key", "secret", "token", "ticket", "passw", "authorization")
_AFTER_NAME = rf"\g<said>{BLOT}"


def redact_text(text: str) -> str:
    """Return `text` with all recognized secrets replaced."""
    for kind in KINDS.values():
        for hint in kind.hints:
            if hint in text:
                text = kind.pattern.sub(BLOT, text)
                break
    if "://" in text:
        text = _LOGIN.sub(_AFTER_NAME, text)
    if ":" in text or "=" in text:
        lowered = text.lower()
        if any(name in lowered for name in _NAMES):
            text = _ASSIGNED.sub(_AFTER_NAME, text)
    return text


def redact_texts(value: Any) -> Any:
    """Return `value` with recognized secrets replaced in all texts, at any depth."""
    return map_texts(value, redact_text)


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return `value` with `change` applied to all texts, also keys, at any depth."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {map_texts(key, change): map_texts(inner, change) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [map_texts(inner, change) for inner in value]
    return value


def redact(value: Any) -> Any:
    """Like `redact_texts`; values of any type under a key that names a secret are replaced too."""
    if isinstance(value, dict):
        return {
            key: BLOT if isinstance(key, str) and SECRET_NAME.search(key) else redact(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact(inner) for inner in value]
    return redact_texts(value)

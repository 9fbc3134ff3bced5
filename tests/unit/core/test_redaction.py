"""Every kind of secret that we know is blotted out, and the text round it stays."""

import base64
import json
import string

import pytest

from actors.broker.llm_proxy.grant_table import TOKEN_PREFIX
from agiraph.api.auth.credential_store import BROWSER_MARK, LINK_MARK, TOKEN_MARK
from agiraph.core.redaction import BLOT, KINDS, redact, redact_text, redact_texts
from agiraph.notifications.webhooks import answer_token

ALNUM = string.ascii_letters + string.digits
LETTERS = (ALNUM * 3)[:40]
SAMPLES = {
    "API tokens, browser logins, login codes, the home's token": [
        f"{mark}{LETTERS}-_0" for mark in (TOKEN_MARK, LINK_MARK, BROWSER_MARK)
    ],
    "door tokens": [TOKEN_PREFIX + "0f" * 32],
    "answer links": [answer_token(b"k" * 32, "q-3fa9c1", 1_800_000_000)],
    "webhook secrets": ["whsec_" + base64.b64encode(b"0123456789abcdefghijklmn").decode()],
    "bearer tokens": ["Bearer abcdefghijkl.mnop"],
    "basic credentials": ["Basic YWRhOmxvdmVsYWNlMTIz"],
    "JWT": [
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_a"
    ],
    "AWS access keys": ["AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE"],
    "GitHub": [f"gh{kind}_{LETTERS[:36]}" for kind in "pousr"],
    "GitHub, fine-grained": ["github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz"],
    "GitLab": ["glpat-0123456789abcdefghij"],
    "Anthropic": ["sk-ant-api03-abcdefgh12345678_-"],
    "OpenAI and those like it": [
        "sk-proj-abcdEFGH12345678",
        "sk_live_51Habcdefgh",
        "rk-12345678ab",
    ],
    "Google": ["AIza" + LETTERS[:35]],
    "Google, OAuth": ["ya29." + LETTERS],
    "xAI": ["xai-" + LETTERS],
    "Groq": ["gsk_" + LETTERS],
    "Cerebras": ["csk-" + LETTERS],
    "NVIDIA": ["nvapi-" + LETTERS],
    "Perplexity": ["pplx-" + LETTERS],
    "Replicate": ["r8_" + LETTERS[:37]],
    "Fireworks": ["fw_" + LETTERS[:24]],
    "Together": ["tgp_v1_" + LETTERS],
    "Hugging Face": ["hf_" + LETTERS[:34]],
    "Tavily": ["tvly-dev-" + LETTERS[:32]],
    "Brave": ["BSA" + LETTERS[:28]],
    "Slack": ["xoxb-0123456789-0123456789-abcdefgh"],
    "Slack's webhooks": ["hooks.slack.com/services/T0123456/B0123456/abcdefghijklmnop"],
    "Telegram": ["1234567890:AA" + LETTERS[:33]],
    "SendGrid": ["SG." + LETTERS[:22] + "." + LETTERS],
    "npm": ["npm_" + LETTERS[:36]],
    "PyPI": ["pypi-AgEIcHlwaS5vcmc" + LETTERS],
    "DigitalOcean": ["dop_v1_" + "0f" * 32],
    "private keys": [
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\n+/x==\n-----END RSA PRIVATE KEY-----"
    ],
}


def test_every_redaction_kind_has_samples() -> None:
    assert set(SAMPLES) == set(KINDS)


@pytest.mark.parametrize(
    ("kind", "secret"), [(kind, one) for kind, samples in SAMPLES.items() for one in samples]
)
def test_secret_is_redacted_in_any_surrounding_text(kind: str, secret: str) -> None:
    assert redact_text(f"before {secret} after") == f"before {BLOT} after", kind
    assert secret not in redact_text(f'curl -H "x-key:{secret}" https://example.org')
    assert redact_text(f"KEY={secret}") == f"KEY={BLOT}"
    assert redact_texts({"a": [json.dumps({"b": f" {secret} "})]}) != {}
    assert secret not in json.loads(redact_text(json.dumps(f"({secret})")))


@pytest.mark.parametrize(
    "text",
    [
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "AWS_SECRET_ACCESS_KEY='wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'",
        f'"ticket": "{"0f" * 32}"',
        f"?token={'0f' * 16}&page=2",
        f"MY_API_KEY={'0f' * 16}",
        f"password: {'0f' * 16}",
        "Authorization: Basic YWRhOmxvdmVsYWNlMTIz",
        json.dumps(json.dumps({"secret": "0f" * 16})),
        "git clone https://ada:hunter22@example.org/x.git",
    ],
)
def test_secret_without_a_shape_is_recognized_by_its_variable(text: str) -> None:
    told = redact_text(text)
    assert BLOT in told
    for secret in ("wJalr", "0f0f", "YWRh", "hunter22"):
        assert secret not in told


@pytest.mark.parametrize(
    "text",
    [
        "the input_tokens: 12345678901234567890 of the run",
        "scikit: sk-learn-tutorial, risk-assessment and task-0123456789abcdef",
        "see /home/ada/.agiraph/agents/survey-1/runs/20260101-120000-3fa9c1/workers/ada-7f3c1a",
        "sha256:" + "9f" * 32,
        "https://127.0.0.1:8000/agents/survey?after=17&limit=50",
        "token = self.get_token()",
        "b-3fa9c1, q-7f3c1a2b, t-0011aa and 01234567-89ab-cdef-0123-456789abcdef",
        "secret: what the model was told is no secret",
        "AKIAIOSFODNN7EXAMPLES are words",
        "eyJust a word.",
        "Basic understanding of Basic JavaScript and Basic Internationalization",
    ],
)
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert redact_text(text) == text


def test_field_named_like_a_secret_is_redacted_in_logs_and_kept_in_events() -> None:
    assert redact({"ticket": b"x", "deep": {"password": 7}}) == {
        "ticket": BLOT,
        "deep": {"password": BLOT},
    }
    assert redact_texts({"key": "plan", "token": 12345678901234567890}) == {
        "key": "plan",
        "token": 12345678901234567890,
    }

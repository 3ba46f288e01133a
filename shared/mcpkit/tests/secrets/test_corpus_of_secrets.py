"""Texts with an invented secret: every one is found, under the expected kind, and nothing of it can be read."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from mcpkit.secrets import find_secrets, mask

Invent = Callable[..., str]


@dataclass(frozen=True)
class Case:
    """`text` may hold {0}, {1}, ... for the pieces; `hidden` is what may not be readable in the masked text."""

    id: str
    kind: str
    text: str
    # (length, alphabet) of each invented piece.
    pieces: tuple[tuple[int, str], ...] = ()
    # Fixed pieces instead of invented ones (short or human-chosen values).
    fixed: tuple[str, ...] = ()
    # How many characters of a piece may stay readable.
    visible: int = 0
    keep: tuple[str, ...] = field(default=())


def token(name: str, kind: str, prefix: str, length: int, alphabet: str = "alnum") -> Case:
    return Case(
        name, kind, f"use {prefix}{{0}} here", ((length, alphabet),), visible=6, keep=("use ", " here")
    )


TOKENS = [
    token("openai", "ai_api_key", "sk" + "-", 48),
    token("openai-project", "ai_api_key", "sk" + "-proj-", 60),
    token("anthropic", "ai_api_key", "sk" + "-ant-api03-", 80),
    token("openrouter", "ai_api_key", "sk" + "-or-v1-", 64, "hex"),
    token("github-classic", "github_token", "gh" + "p_", 36),
    token("github-oauth", "github_token", "gh" + "o_", 36),
    token("github-server", "github_token", "gh" + "s_", 36),
    token("github-fine-grained", "github_token", "github" + "_pat_", 60),
    token("gitlab", "gitlab_token", "gl" + "pat-", 20),
    token("gitlab-runner", "gitlab_token", "gl" + "rt-", 24),
    token("aws", "aws_access_key", "AK" + "IA", 16, "upper"),
    token("aws-temporary", "aws_access_key", "AS" + "IA", 16, "upper"),
    token("slack-bot", "slack_token", "xo" + "xb-123456789012-123456789012-", 24),
    token("slack-app", "slack_token", "xa" + "pp-1-A0B1C2D3E4F-1234567890123-", 40, "hex"),
    token("google", "google_api_key", "AI" + "za", 35),
    token("google-oauth", "google_oauth_token", "ya" + "29.", 60),
    token("google-client", "google_client_secret", "GOC" + "SPX-", 28),
    token("stripe", "stripe_key", "sk" + "_live_", 24),
    token("stripe-restricted", "stripe_key", "rk" + "_live_", 24),
    token("webhook-signing", "webhook_secret", "wh" + "sec_", 32),
    token("npm", "npm_token", "np" + "m_", 36),
    token("pypi", "pypi_token", "py" + "pi-AgEIcHlwaS5vcmc", 80),
    token("docker", "docker_token", "dck" + "r_pat_", 27),
    token("digitalocean", "digitalocean_token", "do" + "p_v1_", 64, "hex"),
    token("huggingface", "huggingface_token", "h" + "f_", 34),
    token("databricks", "databricks_token", "da" + "pi", 32, "hex"),
    token("mailgun", "mailgun_key", "ke" + "y-", 32, "hex"),
    token("twilio", "twilio_key", "S" + "K", 32, "hex"),
    token("shopify", "shopify_token", "shp" + "at_", 32, "hex"),
    token("vault", "vault_token", "hv" + "s.", 90),
    token("grafana", "grafana_token", "gl" + "sa_", 41),
    token("age", "age_secret_key", "AGE-SECRET-" + "KEY-1", 58, "upper"),
    token("linear", "linear_key", "lin" + "_api_", 40),
    token("mergestorm", "mergestorm_key", "ms" + "k_live_", 32),
    Case(
        "sendgrid",
        "sendgrid_key",
        "key S" + "G.{0}.{1} end",
        ((22, "alnum"), (43, "alnum")),
        visible=3,
        keep=("key ", " end"),
    ),
    Case("telegram", "telegram_token", "bot 123456789:A" + "A{0} end", ((33, "alnum"),), keep=(" end",)),
    Case(
        "telegram-url",
        "telegram_token",
        "https://api.telegram.org/bot123456789:A" + "A{0}/getMe",
        ((33, "alnum"),),
        keep=("/getMe",),
    ),
    Case("azure-client", "azure_client_secret", "value a1b" + "8Q~{0} end", ((34, "alnum"),), keep=(" end",)),
    Case("mailchimp", "mailchimp_key", "key {0}-us19 end", ((32, "hex"),), visible=4, keep=(" end",)),
    Case(
        "jwt",
        "jwt",
        "got ey" + "JhbGciOiJIUzI1NiJ9.{0}.{1} back",
        ((40, "alnum"), (43, "alnum")),
        keep=("got ", " back"),
    ),
]

HEADERS = [
    Case("bearer", "bearer_token", "Authorization: Bearer {0}", ((40, "alnum"),), visible=4),
    Case("bearer-short", "bearer_token", "Authorization: Bearer {0}", fixed=("q7Zk2",)),
    Case(
        "bearer-in-curl",
        "bearer_token",
        "curl -H 'Authorization: Bearer {0}' https://h.example",
        ((32, "alnum"),),
        visible=4,
    ),
    Case(
        "bearer-in-python",
        "bearer_token",
        "headers={{'Authorization': 'Bearer {0}'}}",
        ((12, "alnum"),),
        visible=4,
    ),
    Case("token-scheme", "bearer_token", "Authorization: Token {0}", ((40, "hex"),), visible=4),
    Case("raw", "authorization_value", "authorization: {0}", ((40, "hex"),), visible=4),
    Case("proxy", "bearer_token", "Proxy-Authorization: Bearer {0}", ((24, "alnum"),), visible=4),
    Case(
        "api-key-header",
        "api_key",
        "X-API-Key: {0}\nHost: h.example",
        ((32, "hex"),),
        visible=4,
        keep=("Host: h.example",),
    ),
    Case("cookie", "cookie", "Cookie: session={0}; theme=dark", ((32, "hex"),)),
    Case(
        "set-cookie",
        "cookie",
        "Set-Cookie: sid={0}; Path=/; HttpOnly",
        ((32, "hex"),),
        keep=("Path=/; HttpOnly",),
    ),
    Case(
        "cookie-in-curl",
        "cookie",
        'curl -H "Cookie: sid={0}" https://h.example',
        ((24, "alnum"),),
        keep=("https://h.example",),
    ),
]

ADDRESSES = [
    Case(
        "postgres",
        "url_password",
        "postgres://svc:{0}@db.internal/app",
        fixed=("hunter-two-2",),
        keep=("@db.internal/app",),
    ),
    Case(
        "at-sign-in-password",
        "url_password",
        "mysql://svc:{0}@db/app",
        fixed=("p@ssw0rd",),
        keep=("@db/app",),
    ),
    Case(
        "redis-without-user",
        "url_password",
        "redis://:{0}@cache:6379/0",
        fixed=("x9!kLm",),
        keep=("@cache:6379/0",),
    ),
    Case(
        "git-remote",
        "url_password",
        "git clone https://x-access:{0}@code.example/a.git",
        ((30, "alnum"),),
        keep=("@code.example/a.git",),
    ),
    Case(
        "slack-webhook",
        "slack_webhook",
        "https://hooks.slack.com/services/{0}",
        fixed=("T0AB1CD2E/B0AB1CD2E/q7Zk2mNp4rSt6vWx8yAb0cDe",),
    ),
    Case(
        "discord-webhook",
        "discord_webhook",
        "https://discord.com/api/webhooks/123456789012345678/{0}",
        ((68, "alnum"),),
    ),
    Case(
        "azure-sas",
        "url_signature",
        "https://a.blob.core.windows.net/c?sv=2024&sig={0}&se=1",
        ((44, "alnum"),),
        visible=4,
        keep=("&se=1",),
    ),
    Case(
        "s3-signed",
        "url_signature",
        "https://b.s3.amazonaws.com/o?X-Amz-Signature={0}",
        ((64, "hex"),),
        visible=4,
    ),
    Case(
        "curl-user",
        "basic_credentials",
        "curl -u deploy:{0} https://h.example",
        fixed=("w1nter-moon",),
        keep=("https://h.example",),
    ),
]

ASSIGNMENTS = [
    Case("env", "password", "DB_PASSWORD={0}\nNEXT=1", fixed=("Tr0ub4dor-and-3",), keep=("NEXT=1",)),
    Case("env-punctuation", "password", "DB_PASSWORD={0}\nNEXT=1", fixed=("a&b#c(d)!e",), keep=("NEXT=1",)),
    Case("env-quoted", "password", 'export PGPASSWORD="{0}"', fixed=("two words 2",)),
    Case("github-token-name", "token", "GITHUB_TOKEN={0}", ((16, "alnum"),), visible=4),
    Case("aws-secret", "api_key", "aws_secret_access_key = {0}", ((40, "base64"),), visible=4),
    Case("json", "password", '{{"user": "svc", "password": "{0}", "port": 1}}', fixed=("Tr0ub4dor",), keep=('"port": 1',)),
    Case("json-escaped", "token", '"{{\\"token\\": \\"{0}\\"}}"', ((20, "alnum"),), visible=4),
    Case("json-next-line", "secret", '"client_secret":\n    "{0}"', ((24, "alnum"),), visible=4),
    Case("camel-case", "token", "accessToken: '{0}'", ((24, "alnum"),), visible=4),
    Case("camel-key", "api_key", "const apiKey = \"{0}\";", ((24, "alnum"),), visible=4),
    Case("yaml", "password", "db:\n  password: {0}\n  port: 1", fixed=("hunter2",), keep=("port: 1",)),
    Case("yaml-passphrase", "password", "password: {0}", fixed=("correct horse battery staple",)),
    Case("yaml-blanks", "password", "password: {0} # rotate\nport: 1", fixed=("Tr0ub4dor and 3",), keep=("# rotate", "port: 1")),
    Case("yaml-block", "secret", "secret: |\n  {0}\n  {1}\nport: 1", ((24, "alnum"), (20, "hex")), keep=("port: 1",)),
    Case("yaml-folded-block", "token", "spec:\n  token: >-\n    {0}\n  port: 1", ((24, "alnum"),), visible=4, keep=("port: 1",)),
    Case("toml", "api_key", 'api_key = "{0}"', ((24, "alnum"),), visible=4),
    Case("toml-multi-line", "password", 'password = """\n{0}\n{1}\n"""\nport = 1', ((24, "alnum"), (12, "hex")), keep=("port = 1",)),
    Case("python-annotation", "token", 'token: str = "{0}"', ((24, "alnum"),), visible=4),
    Case("python-bytes", "secret", 'secret = b"{0}"', ((24, "alnum"),), visible=4),
    Case("python-index", "password", 'config["password"] = "{0}"', fixed=("Tr0ub4dor",)),
    Case("ruby-hash", "password", ":password => '{0}'", fixed=("Tr0ub4dor",)),
    Case("powershell", "token", '$env:DEPLOY_TOKEN = "{0}"', ((24, "alnum"),), visible=4),
    Case("npmrc", "token", "//registry.example/:_authToken={0}", ((24, "alnum"),), visible=4),
    Case("markdown-bold", "password", "- **Password:** `{0}`", fixed=("Tr0ub4dor",)),
    Case("markdown-code", "token", "`token`: `{0}`", ((24, "alnum"),), visible=4),
    Case("spoken-name", "api_key", "API key: {0}", ((24, "alnum"),), visible=4),
    Case("xml-element", "password", "<password>{0}</password>", fixed=("Tr0ub4dor",)),
    Case("xml-attribute", "token", '<add key="ApiToken" value="{0}" />', ((24, "alnum"),), visible=4),
    Case("kubernetes", "password", "- name: DB_PASSWORD\n  value: {0}\n- name: X", fixed=("Tr0ub4dor-3",), keep=("- name: X",)),
    Case("ado-connection", "password", "Server=h;User Id=sa;Password={0};Database=x", fixed=("Tr0ub4dor-3",), keep=(";Database=x",)),
    Case("azure-account-key", "api_key", "AccountName=a;AccountKey={0};Suffix=b", ((86, "base64"),), visible=4, keep=(";Suffix=b",)),
    Case("compose-default", "password", "PASSWORD=${{DB_PASSWORD:-{0}}}", fixed=("Tr0ub4dor-3",)),
    Case("flag", "password", "tool --password {0} --user x", fixed=("Tr0ub4dor-3",), keep=("--user x",)),
    Case("flag-equals", "token", "tool --token={0} --user x", ((24, "alnum"),), visible=4, keep=("--user x",)),
    Case("short", "token", "token={0}", fixed=("q7Z",)),
    Case("table-cell", "token", "| `token` | `{0}` |", ((24, "alnum"),), visible=4),
    Case("form-body", "secret", "grant_type=x&client_secret={0}&scope=y", ((24, "alnum"),), visible=4, keep=("&scope=y",)),
    Case("hex-value", "api_key", "api_key={0}", ((40, "hex"),), visible=4),
]  # fmt: skip

ALL = TOKENS + HEADERS + ADDRESSES + ASSIGNMENTS


def _filled(case: Case, invent: Invent) -> tuple[str, list[str]]:
    pieces = list(case.fixed) or [
        invent(length, alphabet, f"{case.id}:{at}") for at, (length, alphabet) in enumerate(case.pieces)
    ]
    return case.text.format(*pieces), pieces


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_secret_is_found_hidden_and_its_surroundings_stay(case: Case, invent: Invent) -> None:
    text, pieces = _filled(case, invent)
    findings = find_secrets(text)
    masked = mask(text)
    assert [finding.kind for finding in findings] == [case.kind]
    assert not findings[0].example
    assert masked.hidden == 1
    for piece in pieces:
        for line in piece.splitlines():
            assert line[case.visible :] not in masked.text, masked.text
            assert case.visible == 0 or line not in masked.text
            if case.visible == 0 and len(line) > 3:
                assert line[:4] not in masked.text, masked.text
    for kept in case.keep:
        assert kept in masked.text, masked.text
    assert masked.text.count("\n") == text.count("\n")
    assert mask(masked.text) == (masked.text, 0)


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_secret_in_the_middle_of_a_document_is_hidden_too(case: Case, invent: Invent) -> None:
    text, pieces = _filled(case, invent)
    around = (
        f"# Heading\n\nSome words before.\n\n{text}\n\nSome words after, with the commit 3f786850e387550f.\n"
    )
    masked = mask(around)
    assert masked.hidden == 1
    assert all(piece not in masked.text for piece in pieces)
    assert masked.text.startswith("# Heading\n\nSome words before.\n\n")
    assert masked.text.endswith("\n\nSome words after, with the commit 3f786850e387550f.\n")


def test_basic_credentials_are_found_anywhere(invent: Invent) -> None:
    pair = base64.b64encode(f"deploy:{invent(12)}".encode()).decode()
    for text in (f"Authorization: Basic {pair}", f"send Basic {pair} with it"):
        assert [finding.kind for finding in find_secrets(text)] == ["basic_credentials"]
        assert pair[:8] not in mask(text).text


KEY_LABELS = ["RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", ""]


def _key(invent: Invent, label: str, *, lines: int = 6, end: bool = True) -> tuple[list[str], list[str]]:
    body = [invent(64, "base64", f"{label}{number}") for number in range(lines)] + ["aB3="]
    text = [f"-----BEGIN {label}PRIVATE KEY-----", *body]
    if end:
        text.append(f"-----END {label}PRIVATE KEY-----")
    return text, body


def _assert_hidden(text: str, body: list[str], *, keep: str = "after") -> None:
    masked = mask(text)
    assert masked.hidden == 1
    assert [finding.kind for finding in find_secrets(text)] == ["private_key"]
    assert all(line not in masked.text for line in body), masked.text
    assert keep in masked.text
    assert masked.text.count("\n") == text.count("\n")
    assert mask(masked.text) == (masked.text, 0)


@pytest.mark.parametrize("label", KEY_LABELS)
def test_body_of_a_pem_private_key_is_hidden_line_by_line(label: str, invent: Invent) -> None:
    lines, body = _key(invent, label)
    _assert_hidden("\n".join(["before", *lines, "after"]), body)


@pytest.mark.parametrize("lead", ["    ", "> ", "# ", "// ", "+", " * ", '"'])
def test_decorated_private_key_is_hidden(lead: str, invent: Invent) -> None:
    lines, body = _key(invent, "RSA ")
    _assert_hidden("\n".join([*(lead + line for line in lines), "after"]), body)


@pytest.mark.parametrize("lines", [1, 6])
def test_private_key_that_was_cut_off_is_hidden(lines: int, invent: Invent) -> None:
    text, body = _key(invent, "RSA ", lines=lines, end=False)
    _assert_hidden("\n".join([*text, "", "The words after it stay."]), body, keep="The words after it stay.")


def test_private_key_with_lines_left_out_is_hidden_on_both_sides_of_the_gap(invent: Invent) -> None:
    lines, body = _key(invent, "RSA ")
    for gap in ("...", "[snip]", "(20 lines omitted)"):
        _assert_hidden("\n".join([*lines[:3], gap, *lines[3:], "after"]), body)


def test_private_key_with_carriage_returns_keeps_them(invent: Invent) -> None:
    lines, body = _key(invent, "")
    _assert_hidden("\r\n".join([*lines, "after"]), body)


def test_encrypted_private_key_with_headers_is_hidden(invent: Invent) -> None:
    lines, body = _key(invent, "RSA ")
    lines[1:1] = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-256-CBC,0011", ""]
    _assert_hidden("\n".join([*lines, "after"]), body)


def test_pgp_private_key_block_is_hidden(invent: Invent) -> None:
    body = [invent(64, "base64", str(number)) for number in range(4)]
    text = ["-----BEGIN PGP PRIVATE" + " KEY BLOCK-----", "Version: 1", "", *body, "=aB3d"]
    _assert_hidden("\n".join([*text, "-----END PGP PRIVATE" + " KEY BLOCK-----", "after"]), body)


def test_putty_private_key_is_hidden(invent: Invent) -> None:
    body = [invent(64, "base64", str(number)) for number in range(3)]
    _assert_hidden("\n".join(["Private-Lines: 3", *body, "Private-MAC: 00", "after"]), body)


def test_private_key_on_one_line_is_hidden(invent: Invent) -> None:
    lines, body = _key(invent, "RSA ")
    _assert_hidden(" ".join(lines) + " after", body)


def test_private_key_of_a_service_account_is_hidden_in_json(invent: Invent) -> None:
    lines, body = _key(invent, "")
    account = {
        "type": "service_account",
        "private_key": "\n".join([*lines, ""]),
        "client_email": "after@x.example",
    }
    for text in (json.dumps(account), json.dumps(account, indent=2)):
        masked = mask(text)
        assert all(line not in masked.text for line in body)
        assert masked.hidden == 1
        assert "after@x.example" in masked.text
        assert json.loads(masked.text)["type"] == "service_account"


def test_two_private_keys_are_two_secrets(invent: Invent) -> None:
    first, _ = _key(invent, "RSA ")
    second, _ = _key(invent, "EC ")
    assert mask("\n".join([*first, "between", *second])).hidden == 2
    assert "between" in mask("\n".join([*first, "between", *second])).text


def test_key_cut_off_before_another_key_does_not_hide_what_stands_between(invent: Invent) -> None:
    first, _ = _key(invent, "RSA ", end=False)
    second, _ = _key(invent, "EC ")
    masked = mask("\n".join([*first, "", "The words between them stay.", *second]))
    assert masked.hidden == 2
    assert "The words between them stay." in masked.text

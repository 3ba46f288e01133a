"""Texts without a secret: not one character of them changes."""

from __future__ import annotations

import pytest

from mcpkit.secrets import find_secrets, mask

DIGESTS_AND_IDS = {
    "git-commit": "Fixed in 3f786850e387550fdab836ed7e6dc881de23001b.",
    "sha256-commit": "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "digest-name": "image@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "md5": "d41d8cd98f00b204e9800998ecf8427e  empty.bin",
    "uuid": "request 123e4567-e89b-12d3-a456-426614174000 failed",
    "ulid": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "lock-integrity": '"integrity": "sha512-oW3ZL0nRZq6yq2LxWm1Jm6tWvX8w2s3nS0o0lV2k8p3h1Q9b5u7c4d6e8f0g2h4j6k8l0m2n4p6r8s0t2v4w6A=="',
    "cargo-checksum": 'checksum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"',
    "go-sum": "golang.org/x/text v0.3.0 h1:g61tztE5qeGQ89tm6NTjjM9VPIm088od1l6aSorWRWg=",
    "uv-lock": '{ url = "https://files.example/x-1.0-py3-none-any.whl", hash = "sha256:9f86d081884c7d65", size = 12 }',
    "password-hash": "password_hash: $2b$12$saltsaltsaltsaltsaltsu",
    "base64-image": "![x](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ)",
    "public-key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me@host",
    "certificate": "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ2FuYXJ5\n-----END CERTIFICATE-----",
    "public-pem": "-----BEGIN PUBLIC KEY-----\nMIIBszCCAVmgAwIBAgIUQ2FuYXJ5\n-----END PUBLIC KEY-----",
    "arn": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:app/db-AbCdEf",
    "citation": "cite-0123456789abcdef01234567",
    "semver": "version: 1.2.3-token.4+build.5",
}

PLACEHOLDERS = {
    "angle": "token: <token>",
    "angle-words": "password=<your password here>",
    "shell": "token=${TOKEN}",
    "shell-bare": "TOKEN=$TOKEN",
    "shell-command": "TOKEN=$(cat /run/token)",
    "required-variable": "password: ${DB_PASSWORD:?must be set}",
    "empty-default": "password: ${DB_PASSWORD:-}",
    "template": 'password: "{{ db_password }}"',
    "ci": "token: ${{ secrets.DEPLOY_TOKEN }}",
    "percent": "set TOKEN=%TOKEN%",
    "printf": 'password = "%s"',
    "xxx": "secret: xxx",
    "xxxx-long": "api_key=XXXXXXXXXXXX",
    "dots": "token=...",
    "stars": "password: ********",
    "cut-short": 'api_key="sk-..."',
    "yours": "api_key: your-api-key",
    "yours-upper": "API_KEY=YOUR_API_KEY_HERE",
    "yours-camel": 'apiKey: "yourApiKey"',
    "yours-product": "client_secret: your-auth0-client-secret",
    "changeme": "password: changeme",
    "mine": 'secret = "my-secret-token"',
    "echo": "password=password",
    "example": 'token: "example-token"',
    "empty": "token=",
    "empty-quoted": 'token: ""',
    "null": "password: null",
    "boolean": "reset_password: true",
    "bearer-variable": "Authorization: Bearer $TOKEN",
    "bearer-template": 'headers: {"Authorization": f"Bearer {token}"}',
    "bearer-angle": "Authorization: Bearer <access-token>",
    "bearer-words": "Authorization: Bearer YOUR_ACCESS_TOKEN_GOES_HERE",
    "bearer-masked": "Authorization: Bearer abcd***",
    "basic-variable": "Authorization: Basic ${CREDENTIALS}",
    "cookie-variable": "Cookie: session=<session id>",
    "url-variable": "postgres://user:${DB_PASS}@host/db",
    "url-template": 'f"postgres://{user}:{password}@{host}/db"',
    "url-angle": "https://user:<password>@host.example",
    "slack-webhook": "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
    "token-of-x": "gh" + "p_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "key-of-x": "sk" + "-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "slack-words": "xo" + "xb-your-token-goes-here",
    "vault-reference": "password: !vault",
    "secret-reference": "password: op://vault/item/password",
    "encrypted": "password: ENC[AES256_GCM,data:abc123,type:str]",
    "kubernetes-reference": "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db\n      key: password",
    "pem-elided": "-----BEGIN RSA PRIVATE" + " KEY-----\n...\n-----END RSA PRIVATE" + " KEY-----",
    "pem-named": "-----BEGIN PRIVATE" + " KEY-----\n<base64 of your key>\n-----END PRIVATE" + " KEY-----",
}

PROSE = {
    "word-risk": "the risk-assessmentandmitigation chapter and a task-orientedinterfacedesign",
    "secretary": "secretary: Alice, tokenizer: words",
    "password-rules": "Password rules: see below.",
    "password-must": "The password must have 12 characters.",
    "password-colon": "Password: must be at least 12 characters long and hold a digit.",
    "password-number": "password: 12 characters at least",
    "token-colon": "Token: the smallest unit that the parser knows.",
    "token-bytes": "Token: 32-byte random value, base64-encoded",
    "token-algorithm": "signing_key: HS256 signing key of the server",
    "secret-heading": "Secret:\n\nThe story of a garden.",
    "token-type": "- `token` (string): The API token to use.",
    "token-type-colon": "token: string",
    "table": "| token | string | The API token. |\n| api_key | OAuth2-compatible | v1beta1 |\n| password | ${DB_PASSWORD} |",
    "json-schema": '{"token": {"type": "string"}, "password": "The password of the user."}',
    "i18n": '{"password": "Enter your password", "secret": "This is a secret"}',
    "bearer-prose": "Bearer token-based-authentication-schemes are common.",
    "basic-prose": "Basic authentication: see the chapter on basic configuration.",
    "authorization-prose": "authorization: who may do what, in three paragraphs.",
    "authorization-required": "Authorization: required",
    "cookie-prose": "Cookie: a small text that a site leaves behind.",
    "pem-sentence": "It starts with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.",
    "pem-mention": "Search for the words BEGIN RSA PRIVATE" + " KEY in the log.",
    "link": "See [password reset](https://docs.example/password-reset#token).",
    "question": "What is a token? A token: it depends.",
}

CODE = {
    "token-count": "max_tokens: 4096, token_count = 17, tokens=31",
    "token-number": "score=0.06, token=45075",
    "call": "token = get_token(user)",
    "method": "password = getpass.getpass('Password: ')",
    "environment": 'token = os.environ["TOKEN"]',
    "node-environment": "const token = process.env.TOKEN;",
    "attribute": "self.token = token",
    "keyword-argument": "connect(user=user, password=user_password)",
    "variable": "token = lexeme",
    "annotation": "def login(user: str, password: str, token: str | None = None) -> None:",
    "typescript": "interface Login { password: string; token?: string; secret: SecretKey }",
    "arrow": "tokens.filter((token) => token.kind)",
    "comparison": "if token == other:",
    "lexer": "token = Name.Builtin.Pseudo",
    "special-tokens": 'pad_token = "[PAD]", eos_token = "</s>", unk_token: "UNK"',
    "colour": "Token: '#dddddd',",
    "pattern": r'token = r"[-!#$%&*+.^_`|~0-9a-zA-Z]+"',
    "prompt": 'print("Password: " + hint + "?")',
    "markdown-closing": "names such as `client_secret:`, quoted JSON names, `redis`",
    "field-list": '["passwd:uid", "passwd:shell"]',
    "page": 'nextPageToken: "CAUQAA"',
    "reference": "passwordRef: db-password, tokenUrl: /oauth/token, secretName: db",
    "path": "token_file: /var/run/secrets/token, password: /run/secrets/db_password",
    "url": "token: https://auth.example/oauth/token",
    "css": ".sk-loading-spinner-container-wrapper { color: red }",
    "npm-env": "npm_config_registry npm_lifecycle_script npm_package_version",
    "scope": "urn:ietf:params:oauth:token-type:access_token",
    "regex": r"re.compile('password=(?P<value>.*)')",
}

CASES = {
    f"{group}-{name}": text
    for group, cases in (
        ("id", DIGESTS_AND_IDS),
        ("placeholder", PLACEHOLDERS),
        ("prose", PROSE),
        ("code", CODE),
    )
    for name, text in cases.items()
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert mask(text) == (text, 0)


@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_harmless_text_stays_inside_a_list_and_a_fence(text: str) -> None:
    indented = "\n".join(f"    {line}" for line in text.split("\n"))
    for around in (f"Before.\n\n{indented}\n\nAfter.\n", f"```\n{text}\n```\n"):
        assert mask(around) == (around, 0)


@pytest.mark.parametrize(
    "text",
    [
        "postgres://user:password@localhost/app",
        "https://user:pass@host.example/path",
        "key id AKIA" + "IOSFODNN7EXAMPLE",
        "Authorization: Basic dXNlcjpwYXNzd29yZA==",
    ],
)
def test_well_known_example_is_hidden_and_marked_as_one(text: str) -> None:
    findings = find_secrets(text)
    assert [finding.example for finding in findings] == [True]
    assert mask(text).hidden == 1

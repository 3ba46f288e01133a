"""Admission: the recorded vectors, the table of modes, and what we decide beyond them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragit_mcp.safety import (
    BLOCKED_TEXT,
    Action,
    AdmissionMode,
    AdmissionReport,
    Outcome,
    Reason,
    admit_artifact_text,
    decide,
    masked_text,
    outcome_of,
)
from ragit_mcp.safety.admission import is_high_risk_path

VECTORS = Path(__file__).parents[1] / "vectors" / "admission.json"
CASES: list[dict[str, Any]] = json.loads(VECTORS.read_text(encoding="utf-8"))["cases"]

# Put together here, so that no scanner finds them in this file.
PASSWORD = "Tr0ub4dor" + "-and-3"
TOKEN = "Ab1Cd2Ef3Gh4" + "Ij5Kl6Mn7Op8"
KEY = "-----BEGIN RSA PRIVATE" + " KEY-----\nMIIBOgIBAAJBAKj34GkxFhD9\n-----END RSA PRIVATE" + " KEY-----\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_document_is_decided_as_the_vector_says(case: dict[str, Any]) -> None:
    decision = decide(case["path"], "".join(case["text"]))
    expect = case.get("expect", {})
    reasons = [reason.value for reason in decision.reasons]
    if "action" in expect:
        assert decision.action == expect["action"]
    if "reasonCodes" in expect:
        assert reasons == expect["reasonCodes"]
    for reason in expect.get("include", []):
        assert reason in reasons
    if expect.get("indexed"):
        assert outcome_of(decision, AdmissionMode.ENFORCE, explicit=False) is Outcome.INDEX
    for pieces in expect.get("hide", []):
        assert "".join(pieces) not in decision.text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_reasons_are_in_order_and_agree_with_the_action(case: dict[str, Any]) -> None:
    decision = decide(case["path"], "".join(case["text"]))
    # A dump is followed by the general reason; all others stand in the order of their declaration.
    order = [
        list(Reason).index(reason) for reason in decision.reasons if reason is not Reason.CREDENTIAL_DUMP
    ]
    assert order == sorted(order)
    assert (decision.action is Action.ALLOW) == (decision.reasons == ())
    assert (decision.action is Action.QUARANTINE) == (decision.reasons == (Reason.SECRET_PATTERN,))


class TestWhatCountsAsADump:
    def test_header_with_a_real_credential_is_one(self) -> None:
        decision = decide("docs/a.md", f"GET / HTTP/1.1\nAuthorization: Bearer {TOKEN}\n")
        assert decision.action is Action.BLOCK
        assert decision.reasons == (
            Reason.HEADER_OR_COOKIE_DUMP,
            Reason.CREDENTIAL_DUMP,
            Reason.SECRET_PATTERN,
        )

    @pytest.mark.parametrize(
        "header",
        [
            "Authorization: Bearer <token>",
            "Cookie: session=${SESSION}",
            "X-API-Key: YOUR_KEY_HERE",
            "Set-Cookie: see above",
        ],
    )
    def test_header_with_a_placeholder_is_none(self, header: str) -> None:
        assert decide("docs/a.md", f"```http\nGET / HTTP/1.1\n{header}\n```\n").action is Action.ALLOW

    def test_credential_on_another_line_than_the_header_makes_no_header_dump(self) -> None:
        decision = decide("docs/a.md", f"Authorization: Bearer <token>\n\ntoken={TOKEN}\n")
        assert decision.reasons == (Reason.SECRET_PATTERN,)

    def test_environment_listing_with_a_real_value_is_one(self) -> None:
        decision = decide("docs/a.md", f"DB_HOST=db.example\nDB_USER=svc\nDB_PASSWORD={PASSWORD}\n")
        assert decision.reasons == (Reason.ENV_DUMP, Reason.CREDENTIAL_DUMP, Reason.SECRET_PATTERN)

    def test_two_variables_are_no_listing(self) -> None:
        decision = decide("docs/a.md", f"DB_USER=svc\nDB_PASSWORD={PASSWORD}\n")
        assert decision.action is Action.QUARANTINE

    def test_examples_that_documentation_shows_everywhere_are_masked_but_never_block(self) -> None:
        text = "\n".join(f"postgres://user:password@host{number}.example/app" for number in range(5))
        decision = decide("docs/a.md", text)
        assert decision.action is Action.QUARANTINE
        assert decision.masked_count == 5

    def test_private_key_shown_as_dots_is_no_key(self) -> None:
        text = KEY.replace("MIIBOgIBAAJBAKj34GkxFhD9", "...")
        assert decide("docs/a.md", text).action is Action.ALLOW

    def test_private_key_inside_a_yaml_block_is_still_called_one(self) -> None:
        text = "private_key: |\n" + "".join(f"  {line}\n" for line in KEY.splitlines())
        assert Reason.PRIVATE_KEY_BLOCK in decide("docs/a.md", text).reasons


class TestPaths:
    @pytest.mark.parametrize(
        "path",
        [
            ".env.local",
            "a/.ENV",
            "kubeconfig",
            "id_ed25519",
            "a/b.p12",
            "secret/a.md",
            "a/.ssh/b.md",
            "a/.aws/b.md",
            "a\\secrets\\b.md",
        ],
    )
    def test_place_of_credentials_is_risky(self, path: str) -> None:
        assert is_high_risk_path(path)

    @pytest.mark.parametrize(
        "path", ["docs/a.md", "docs/secrets.md", "secretary/a.md", "docs/env/a.md", "keys.md", "aws.md"]
    )
    def test_place_that_only_sounds_like_it_is_not(self, path: str) -> None:
        assert not is_high_risk_path(path)

    def test_trusted_path_passes_the_path_rule_but_not_the_others(self) -> None:
        def trusted(path: str) -> bool:
            return path.startswith("docs/secrets/")

        assert decide("docs/secrets/a.md", "# A\n", path_is_trusted=trusted).action is Action.ALLOW
        assert decide("docs/secrets/a.md", KEY, path_is_trusted=trusted).action is Action.BLOCK
        assert decide("other/secrets/a.md", "# A\n", path_is_trusted=trusted).action is Action.BLOCK


class TestModes:
    @pytest.mark.parametrize(
        ("text", "mode", "explicit", "outcome"),
        [
            ("# A\n", AdmissionMode.ENFORCE, True, Outcome.INDEX),
            (f"token={TOKEN}\n", AdmissionMode.ENFORCE, True, Outcome.INDEX),
            (KEY, AdmissionMode.ENFORCE, False, Outcome.SKIP),
            (KEY, AdmissionMode.ENFORCE, True, Outcome.REFUSE),
            (KEY, AdmissionMode.REPORT_ONLY, False, Outcome.INDEX),
            (KEY, AdmissionMode.REPORT_ONLY, True, Outcome.INDEX),
        ],
        ids=["allow", "quarantine", "block-found", "block-named", "report-found", "report-named"],
    )
    def test_outcome_follows_the_table(
        self, text: str, mode: AdmissionMode, explicit: bool, outcome: Outcome
    ) -> None:
        assert outcome_of(decide("docs/a.md", text), mode, explicit=explicit) is outcome

    def test_blocked_artifact_text_is_replaced_under_enforce(self) -> None:
        decision = admit_artifact_text(KEY, AdmissionMode.ENFORCE)
        assert decision.action is Action.BLOCK
        assert decision.text == BLOCKED_TEXT

    def test_blocked_artifact_text_is_masked_under_report_only(self) -> None:
        decision = admit_artifact_text(KEY + "after", AdmissionMode.REPORT_ONLY)
        assert decision.action is Action.BLOCK
        assert "MIIB" not in decision.text
        assert decision.text.endswith("after")

    def test_quarantined_artifact_text_is_masked_in_both_modes(self) -> None:
        for mode in AdmissionMode:
            assert TOKEN[4:] not in admit_artifact_text(f"use token={TOKEN}", mode).text


class TestReport:
    def test_report_counts_actions_and_lists_what_was_not_allowed(self) -> None:
        report = AdmissionReport(AdmissionMode.ENFORCE, "ingest")
        report.add("docs/a.md", "document", decide("docs/a.md", "# A\n"))
        report.add("docs/b.md", "document", decide("docs/b.md", f"token={TOKEN}"))
        report.add("docs/c.md", "document", decide("docs/c.md", KEY))
        assert report.count(Action.BLOCK) == 1
        assert report.to_json() == {
            "mode": "enforce",
            "allowed": 1,
            "quarantined": 1,
            "blocked": 1,
            "items": [
                {
                    "sourceRef": "docs/b.md",
                    "surface": "document",
                    "action": "quarantine",
                    "reasonCodes": ["secret_pattern"],
                    "operation": "ingest",
                },
                {
                    "sourceRef": "docs/c.md",
                    "surface": "document",
                    "action": "block",
                    "reasonCodes": ["private_key_block", "secret_pattern"],
                    "operation": "ingest",
                },
            ],
        }

    def test_secret_in_a_file_name_is_not_repeated(self) -> None:
        report = AdmissionReport(AdmissionMode.ENFORCE, "ingest")
        path = f"docs/gh{'p_'}{TOKEN}.md"
        report.add(path, "document", decide(path, KEY))
        assert TOKEN not in json.dumps(report.to_json())


lines = st.sampled_from([
    "# A",
    "",
    "plain words",
    f"DB_PASSWORD={PASSWORD}",
    "PORT=8080",
    "LOG=info",
    f"Authorization: Bearer {TOKEN}",
    "Authorization: required",
    f"Cookie: sid={TOKEN}",
    *KEY.splitlines(),
])


@given(st.lists(lines, max_size=20).map("\n".join))
def test_text_of_a_decision_holds_no_secret_and_as_many_lines(text: str) -> None:
    decision = decide("docs/a.md", text)
    assert PASSWORD not in decision.text
    assert TOKEN not in decision.text
    assert decision.text.count("\n") == text.count("\n")
    assert (decision.text == text) == (decision.masked_count == 0)
    assert decide("docs/a.md", decision.text).masked_count == 0
    assert masked_text(decision.text).hidden == 0


def test_decision_does_not_show_its_text_when_printed() -> None:
    assert "plain words" not in repr(decide("docs/a.md", "plain words"))

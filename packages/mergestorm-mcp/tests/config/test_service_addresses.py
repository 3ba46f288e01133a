"""Which addresses a key may be sent to."""

from __future__ import annotations

import pytest

from mergestorm_mcp.config import HOSTED_API, Environment, active_base, checked_base, is_loopback
from mergestorm_mcp.errors import CommandError


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("https://api.mergestorm.ai", HOSTED_API),
        ("https://API.Mergestorm.AI/", HOSTED_API),
        ("HTTPS://api.mergestorm.ai.:443", HOSTED_API),
        ("https://storm.example:8443/base/", "https://storm.example:8443/base"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        ("http://127.9.9.9", "http://127.9.9.9"),
        ("http://[::1]:9", "http://[::1]:9"),
        ("https://10.0.0.7", "https://10.0.0.7"),
    ],
)
def test_an_address_has_one_normal_form(given: str, normal: str) -> None:
    assert checked_base(given) == normal


@pytest.mark.parametrize(
    "given",
    [
        "http://api.mergestorm.ai",
        "http://localhost:8080",
        "http://10.0.0.7",
        "ftp://127.0.0.1",
        "api.mergestorm.ai",
        "https://user@api.mergestorm.ai",
        "https://user:pass@api.mergestorm.ai",
        "https://api.mergestorm.ai?x=1",
        "https://api.mergestorm.ai#x",
        "https://api.mergestorm.ai:99999",
        "https://api.mergestorm.ai\\@evil.example",
        "https://api mergestorm.ai",
        "https://ärger.example",
        "https://api.mergestorm.ai/../x",
        "https://[::1",
    ],
)
def test_any_other_form_is_refused(given: str) -> None:
    with pytest.raises(CommandError) as refused:
        checked_base(given)
    assert (refused.value.code, refused.value.exit_code) == ("usage", 2)
    assert given not in refused.value.message


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "169.254.0.1",
        "[fe80::1]",
        "[fe80::1%25eth0]",
        "[::ffff:169.254.169.254]",
        "[2002:a9fe:a9fe::]",
        "[64:ff9b::a9fe:a9fe]",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "metadata.google.internal",
        "0.0.0.0",
        "[::]",
        "224.0.0.1",
        "2852039166",
        "0xa9fea9fe",
        "169.16689662",
        "0251.0376.0251.0376",
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_link_local_metadata_and_disguised_addresses_are_refused(scheme: str, host: str) -> None:
    with pytest.raises(CommandError) as refused:
        checked_base(f"{scheme}://{host}/")
    assert refused.value.code == "usage"


def test_only_literal_loopback_counts_as_loopback() -> None:
    assert is_loopback("http://127.0.0.1:1")
    assert is_loopback("https://[::1]")
    assert not is_loopback("https://localhost")
    assert not is_loopback(HOSTED_API)


def test_the_variable_wins_over_the_file_and_the_file_over_the_hosted_service(
    folders: dict[str, str],
) -> None:
    import pathlib

    bare = Environment({}, folders["home"], folders["work"])
    assert active_base(bare) == HOSTED_API
    place = pathlib.Path(folders["home"], ".mergestorm")
    place.mkdir()
    (place / "config.json").write_text('{"apiBase": "https://storm.example/"}', encoding="utf-8")
    assert active_base(bare) == "https://storm.example"
    told = Environment({"MERGESTORM_API_URL": " https://other.example "}, folders["home"], folders["work"])
    assert active_base(told) == "https://other.example"
    blank = Environment({"MERGESTORM_API_URL": "  "}, folders["home"], folders["work"])
    assert active_base(blank) == "https://storm.example"

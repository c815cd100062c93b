"""The settings of a bundle: read where they are right, an issue with its line where they are not."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openknowledge.engine import limits
from openknowledge.engine.config import CONFIG_NAME, Config, parse_config, read_config

if TYPE_CHECKING:
    from tests.conftest import MakeBundle


def _issues(config: Config) -> list[tuple[int, int, str]]:
    assert {(i.path, i.rule, i.severity) for i in config.issues} <= {(CONFIG_NAME, "rule-catalog", "error")}
    return [(issue.line, issue.column, issue.message) for issue in config.issues]


def test_without_a_file_there_are_no_settings(make_bundle: MakeBundle) -> None:
    assert read_config(make_bundle({})) == Config()


def test_severities_and_policy_files_are_read(make_bundle: MakeBundle) -> None:
    text = (
        '[validation.rules]\nlink-target = "error"\n"okf-0.2-metadata" = "ignore"\nutf-8 = "warn"\n\n'
        '[policy]\nrules = ["rules/*.dl"]\n'
    )
    config = read_config(make_bundle({CONFIG_NAME: text}))
    assert config.path == CONFIG_NAME
    assert config.overrides == {"link-target": "error", "okf-0.2-metadata": "off", "utf-8": "warning"}
    assert (config.policy_rules, config.issues) == (("rules/*.dl",), ())


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "[other]\nx = 1\n", "[validation]\n", "\ufeff[validation]\n"]
)
def test_settings_that_say_nothing_change_nothing(make_bundle: MakeBundle, text: str) -> None:
    assert read_config(make_bundle({CONFIG_NAME: text})) == Config(CONFIG_NAME)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('[validation.rules]\n\nlinks = "off"\n', 3, "unknown rule 'links'; choose one of bundle-read, "),
        ('[validation.rules]\n"links" = "off"\n', 2, "unknown rule 'links'; "),
        ('[validation]\nrules.links = "off"\n', 2, "unknown rule 'links'; "),
        ('[validation]\nrules = {links = "off"}\n', 1, "unknown rule 'links'; "),
        ('[validation.rules]\nutf-8 = "fatal"\n', 2,
         "unknown severity 'fatal' for rule utf-8; choose error, warning or off"),
        ("[validation.rules]\nutf-8 = 1\n", 2, "unknown severity '1' for rule utf-8; "),
        ("[validation.rules]\nutf-8 = [1]\n", 2, "unknown severity '[1]' for rule utf-8; "),
        ('[validation.rules]\nclaim-profile = "off"\n', 2, "the severity of rule claim-profile is fixed: "),
        ("\nvalidation = 1\n", 2, "[validation.rules] must be a table of rule = severity"),
        ("[validation]\nrules = []\n", 1, "[validation.rules] must be a table of rule = severity"),
        ("x = 1\n[policy]\nrules = 'a'\n", 2, "[policy] rules must be a list of paths or glob patterns"),
        ("[policy]\nrules = [1]\n", 1, "[policy] rules must be a list of paths or glob patterns"),
        ("[policy]\nrules = ['']\n", 1, "[policy] rules must be a list of paths or glob patterns"),
        ("policy = []\n", 1, "[policy] rules must be a list of paths or glob patterns"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_an_issue_on_its_line(text: str, line: int, message: str) -> None:
    ((at, _, found),) = _issues(parse_config(text))
    assert found.startswith(message)
    assert at == line


def test_the_right_settings_beside_a_wrong_one_count() -> None:
    config = parse_config('[validation.rules]\nlinks = "off"\nlink-target = "off"\n[policy]\nrules = 1\n')
    assert config.overrides == {"link-target": "off"}
    assert [line for line, _, _ in _issues(config)] == [2, 4]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a = \n", 1, 5),
        ("a = 1\nb = [\n", 1, 1),
        ("a = 1\na = 2\n", 2, 6),
        ("\x00\n", 1, 1),
        ("a = 1\n\n[\n", 3, 2),
    ],
)
def test_text_that_is_no_toml_is_an_issue_where_it_stops(text: str, line: int, column: int) -> None:
    ((at, col, message),) = _issues(parse_config(text))
    assert message.startswith("settings are not valid TOML: ")
    assert (at, col) == (line, column)


def test_settings_that_are_not_utf8_are_an_issue(make_bundle: MakeBundle) -> None:
    config = read_config(make_bundle({CONFIG_NAME: b"# caf\xe9\n"}))
    assert _issues(config) == [(1, 1, "settings are not valid UTF-8: byte at offset 5")]


@pytest.mark.parametrize("extra", [0, 1])
def test_settings_are_read_up_to_the_limit(make_bundle: MakeBundle, extra: int) -> None:
    config = read_config(make_bundle({CONFIG_NAME: "#" * (limits.CONFIG_BYTES + extra)}))
    message = f"cannot read settings: larger than {limits.CONFIG_BYTES} bytes"
    assert _issues(config) == ([(1, 1, message)] if extra else [])


@pytest.mark.parametrize("part", ["a", '"a b"', "'a'", "a-1 "])
def test_keys_have_parts_up_to_the_limit(part: str) -> None:
    def key(parts: int) -> str:
        return "x = 1\n" + ".".join([part] * parts) + " = 1\n"

    assert _issues(parse_config(key(limits.CONFIG_KEY_PARTS))) == []
    message = f"settings have a key of more than {limits.CONFIG_KEY_PARTS} parts"
    assert _issues(parse_config(key(limits.CONFIG_KEY_PARTS + 1))) == [(2, 1, message)]


def test_a_symbolic_link_is_not_followed(make_bundle: MakeBundle) -> None:
    root = make_bundle({"real.toml": '[validation.rules]\nlink-target = "off"\n'})
    (root / CONFIG_NAME).symlink_to("real.toml")
    assert read_config(root) == Config()


def test_a_directory_of_that_name_is_no_settings(make_bundle: MakeBundle) -> None:
    assert read_config(make_bundle({f"{CONFIG_NAME}/x": ""})) == Config()


def test_settings_that_cannot_be_opened_are_an_issue(
    make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: str, _limit: int) -> tuple[bytes, None]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("openknowledge.engine.config.read_file", refuse)
    config = read_config(make_bundle({CONFIG_NAME: ""}))
    assert _issues(config) == [(1, 1, "cannot read settings: Permission denied")]


HOSTILE = {
    "open lists": "a = " + "[" * 60_000,
    "open tables": "a = " + "{a=" * 20_000,
    "a long dotted key": "a." * 30_000 + "a = 1\n",
    "a long table name": "[" + "a." * 30_000 + "a]\n",
    "digits": "a = " + "1" * 60_000 + "\n",
    "blanks": " " * 60_000 + "\n",
    "an open string": 'a = "' + "x" * 60_000,
    "quotes": '"' * 60_000,
    "keys": "".join(f"a{n} = 1\n" for n in range(6_000)),
    "unknown rules": "[validation.rules]\n" + "".join(f"r{n} = 1\n" for n in range(5_000)),
    "deep tables": "".join("[" + ".".join(["a"] * n) + "]\n" for n in range(1, 32)),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_settings_are_read_or_refused_in_little_time(text: str) -> None:
    start = time.process_time()
    parse_config(text)
    assert time.process_time() - start < 3


@given(st.text(alphabet="ab.[]{}=\"'#\n 1,-\\é\x00", max_size=40))
def test_no_text_raises(text: str) -> None:
    assert all(issue.line >= 1 for issue in parse_config(text).issues)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[policy]\nrule = ['a.dl']\n", "[policy] has an unknown key 'rule'; known: rules"),
        ("[validation]\nrulez = 1\n", "[validation] has an unknown key 'rulez'; known: rules"),
        ("#\n[polcy]\nrules = ['a.dl']\n", "settings have an unknown table 'polcy'; did you mean [policy]?"),
    ],
)
def test_a_slip_in_a_name_does_not_pass_in_silence(text: str, message: str) -> None:
    (issue,) = parse_config(text).issues
    assert (issue.line, issue.message) == (2, message)

"""What is ready to use in CI works: the action, the hooks, and every example in the guide."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from openknowledge.engine.analysis.checks import CHECKS

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
PAGE = "knowledge/services/support.md"
SOURCE = "knowledge/sources/support-terms.txt"
pytestmark = pytest.mark.skipif(not Path("/bin/bash").exists(), reason="the steps are for bash")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a new bundle, to be copied."""
    work = tmp_path_factory.mktemp("template")
    subprocess.run(
        [sys.executable, "-c", MAIN, "init", "knowledge"], cwd=work, check=True, capture_output=True
    )
    script = (
        "git init -q -b main && git config user.email a@example.com && git config user.name a && "
        "git add -A && git commit -qm one && git branch origin/main"
    )
    subprocess.run(["/bin/bash", "-ec", script], cwd=work, check=True, capture_output=True)
    return work


@pytest.fixture
def project(tmp_path: Path, template: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs a script in a repository with a new bundle, with okn on its path."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    shim = bin_folder / "okn"
    shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "{MAIN}" "$@"\n')
    shim.chmod(0o755)
    work = tmp_path / "work"
    shutil.copytree(template, work, symlinks=True)
    environment = {
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "TMPDIR": str(tmp_path),
    }

    def run(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        # as a GitHub runner starts bash
        return subprocess.run(
            ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=work,
            env={**environment, **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


MAIN = "from openknowledge.cli.main import main; main()"
Project = Callable[..., subprocess.CompletedProcess[str]]


def drift(project: Project) -> None:
    """Change the source of the claim in a place that the claim does not quote."""
    edit = f"sed -i.bak 's/08:00 to 18:00/07:00 to 18:00/' {SOURCE} && rm {SOURCE}.bak"
    done = project(f"{edit} && git commit -qam two")
    assert done.returncode == 0, done.stderr


def reconcile(project: Project) -> None:
    """Look at the claim again, as the guide says."""
    (script,) = [block for block in blocks("sh") if "reconcile" in block]
    done = project(script + "git add -A && git commit -qm three")
    assert done.returncode == 0, done.stderr


# The action


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return found


def step(name: str) -> dict[str, Any]:
    (found,) = [item for item in action()["runs"]["steps"] if item["name"] == name]
    return dict(found)


def run_step(project: Project, name: str, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run a step of the action with its inputs, as the runner fills them in."""
    given = {key: str(value.get("default", "")) for key, value in action()["inputs"].items()}
    given.update({key.replace("_", "-"): value for key, value in inputs.items()})
    found = step(name)
    variables = {
        key: re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda match: given[match[1]], value)
        for key, value in found.get("env", {}).items()
    }
    return project(found["run"], **variables)


def test_the_action_is_red_on_a_stale_claim_and_green_after_it_is_reconciled(
    project: Project, tmp_path: Path
) -> None:
    done = run_step(project, "Check", path="knowledge", sarif="okn.sarif", comment="okn.md")
    assert done.returncode == 0, done.stdout + done.stderr
    drift(project)
    done = run_step(project, "Check", path="knowledge", sarif="okn.sarif", comment="okn.md")
    assert done.returncode == 1
    assert f"::error file={PAGE},line=17,col=5,title=claim-evidence-stale::" in done.stdout
    results = json.loads((tmp_path / "work/okn.sarif").read_text())["runs"][0]["results"]
    assert [result["ruleId"] for result in results] == ["claim-evidence-stale"]
    assert "## okn check: failed" in (tmp_path / "work/okn.md").read_text()
    assert "## okn check: failed" in (tmp_path / "summary.md").read_text()
    reconcile(project)
    done = run_step(project, "Check", path="knowledge", sarif="okn.sarif", comment="okn.md")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_action_says_what_the_change_does(project: Project, tmp_path: Path) -> None:
    drift(project)
    done = run_step(project, "Compare", path="knowledge", base="origin/main")
    assert done.returncode == 0, done.stderr
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("## What this does to the knowledge")
    assert "### Became stale" in summary


def test_the_action_takes_a_baseline_and_a_threshold(project: Project) -> None:
    drift(project)
    assert run_step(project, "Check", path="knowledge", fail_on="none").returncode == 0
    done = project(
        "okn check knowledge --baseline b.json --update-baseline --reason later --until 2099-01-01"
    )
    assert done.returncode == 0, done.stderr
    assert run_step(project, "Check", path="knowledge", baseline="b.json").returncode == 0


@pytest.mark.parametrize("name", ["path", "base", "baseline", "fail_on", "sarif"])
def test_an_input_of_the_action_is_never_run_as_a_command(
    project: Project, tmp_path: Path, name: str
) -> None:
    run_step(
        project,
        "Compare" if name == "base" else "Check",
        **{name: "$(touch pwned); touch pwned; `touch pwned` '\""},
    )
    assert not (tmp_path / "work/pwned").exists()


def test_no_step_of_the_action_puts_an_input_into_its_script() -> None:
    for item in action()["runs"]["steps"]:
        assert "${{" not in item.get("run", "")


def test_every_input_of_the_action_is_used_and_described() -> None:
    text = json.dumps(action()["runs"])
    for name, value in action()["inputs"].items():
        assert value["description"]
        assert f"inputs.{name}" in text


# The hooks


def test_the_hooks_run_commands_that_there_are(project: Project) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in hooks] == ["okn-check", "okn-validate"]
    for hook in hooks:
        assert hook["language"] == "python"
        assert hook["pass_filenames"] is False
        done = project(f"{hook['entry']} knowledge", GIT_DIR=".git", GIT_INDEX_FILE=".git/index")
        assert done.returncode == 0, done.stderr
    with (ROOT / "pyproject.toml").open("rb") as stream:
        assert "okn" in tomllib.load(stream)["project"]["scripts"]


# The guide


def test_the_gitlab_job_runs_green_and_then_red(project: Project, tmp_path: Path) -> None:
    (job,) = [yaml.safe_load(block) for block in blocks("yaml") if block.startswith("# .gitlab-ci.yml")]
    lines = [line for line in job["knowledge"]["script"] if not line.startswith("pip install")]
    assert project("\n".join(lines)).returncode == 0
    drift(project)
    assert project("\n".join(lines)).returncode == 1
    reports = job["knowledge"]["artifacts"]
    for name in [*reports["paths"], reports["reports"]["junit"]]:
        assert (tmp_path / "work" / name).exists()


def test_the_github_workflow_gives_the_action_inputs_that_it_has() -> None:
    (flow,) = [yaml.safe_load(block) for block in blocks("yaml") if "workflows/" in block]
    (used,) = [item for item in flow["jobs"]["check"]["steps"] if "openknowledge" in item["uses"]]
    assert set(used["with"]) <= set(action()["inputs"])
    upload = flow["jobs"]["check"]["steps"][-1]
    assert upload["with"]["sarif_file"] == used["with"]["sarif"]


def test_the_pre_commit_example_names_a_hook_that_there_is() -> None:
    (config,) = [yaml.safe_load(block) for block in blocks("yaml") if "pre-commit-config" in block]
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert config["repos"][0]["hooks"][0]["id"] in [hook["id"] for hook in hooks]


SHELL = [block for block in blocks("sh") if "okn init" not in block and "reconcile" not in block]


@pytest.mark.parametrize("script", SHELL, ids=lambda text: text.split("\n")[0])
def test_every_shell_example_of_the_guide_runs(project: Project, script: str) -> None:
    done = project(script)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_policies_of_the_guide_find_what_they_say(project: Project, tmp_path: Path) -> None:
    work = tmp_path / "work"
    (policy,) = blocks("prolog")
    (settings,) = blocks("toml")
    (work / "knowledge/policy/owners.dl").write_text(policy)
    (work / "knowledge/.openknowledge.toml").write_text(settings)
    (work / "knowledge/runbook.md").write_text("---\ntype: Runbook\ntitle: Restart\n---\n\n# Restart\n")
    page = work / PAGE
    page.write_text(page.read_text().replace("owners: [team:support]\n", ""))
    done = project("okn check knowledge --only 'policy/*' --json")
    messages = [finding["message"] for finding in json.loads(done.stdout)["findings"]]
    assert messages == [
        "the runbook Restart was never reviewed by a person",
        "nobody owns ex:claim/support-first-answer: add owners to services/support.md",
    ]


def test_the_guide_names_rules_that_there_are() -> None:
    known = {check.id for check in CHECKS}
    for name in ("missing-source", "missing-owner", "policy-error", "duplicate-title", "identical-body"):
        assert f"`{name}`" in GUIDE or f" {name}" in GUIDE
        assert name in known


def test_the_new_bundle_pins_what_it_cites(project: Project, tmp_path: Path) -> None:
    (artifact,) = (tmp_path / "work/knowledge").rglob("artifact.txt")
    assert artifact.parent.name == hashlib.sha256(artifact.read_bytes()).hexdigest()

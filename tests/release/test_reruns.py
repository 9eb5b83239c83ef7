"""What a release is made of decides whether `.ci/run` makes it again."""

import re
import subprocess
from pathlib import Path

from tests.release.artifacts import ROOT


def functions() -> str:
    """Those of `.ci/run` that decide, and a `make` that only says that it ran."""
    text = (ROOT / ".ci/run").read_text()
    form = r"^(?:say|where_changed|release_inputs)\(\) \{.*?\}$"
    bodies = re.findall(form, text, re.MULTILINE | re.DOTALL)
    return "\n".join(["set -euo pipefail", "left_out=()", *bodies])


def is_made(tree: Path, cache: Path) -> bool:
    """Whether the target is made in that tree."""
    programs = cache / "programs"
    programs.mkdir(parents=True, exist_ok=True)
    (programs / "make").write_text("#!/bin/sh\necho made\n")
    (programs / "make").chmod(0o755)
    environment = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "RESCHEDULER_E2E_CACHE": str(cache),
        "HOME": str(cache),
    }
    script = f"{functions()}\nwhere_changed release-dry-run release_inputs"
    command = ["bash", "-c", script]
    done = subprocess.run(
        command, cwd=tree, env=environment, check=True, capture_output=True, text=True
    )
    return "made" in done.stdout.splitlines()


def test_a_release_is_made_again_where_what_it_has_changed(tmp_path: Path) -> None:
    tree, cache = tmp_path / "tree", tmp_path / "cache"
    made_of = [
        *("policies/a.yaml", "deploy/kustomize/a.yaml", "CHANGELOG.md", "README.md"),
        *("SECURITY.md", "docs/a.md", "Makefile", "rescheduler/reporting/page.css"),
        *("rescheduler/__init__.py", "rescheduler/cli/main.py", "tests/deploy/install_yaml.py"),
        *("tests/release/a.py", "tests/recordings/a", "tests/e2e/controlplane/helm/go.mod"),
        *("tests/e2e/image/archive.py", "requirements.lock", ".github/a.yaml", ".ci/run"),
    ]
    others = ["rescheduler/plan.py", "rescheduler/planning/search.py", "tests/planning/test_a.py"]
    for name in (*made_of, *others):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("first")
    for words in (("init", "--quiet"), ("add", ".")):
        subprocess.run(["git", *words], cwd=tree, check=True)
    assert is_made(tree, cache)
    for name in others:
        (tree / name).write_text("second")
    assert not is_made(tree, cache)
    for name in made_of:
        (tree / name).write_text("second")
        assert is_made(tree, cache), name
    (tree / "docs/new.md").write_text("not tracked yet")
    assert is_made(tree, cache)
    (tree / "README.md").unlink()
    assert is_made(tree, cache)
    assert not is_made(tree, cache)


def test_a_tree_whose_files_cannot_be_listed_has_not_passed(tmp_path: Path) -> None:
    for _ in range(2):
        try:
            is_made(tmp_path, tmp_path / "cache")
        except subprocess.CalledProcessError:
            continue
        raise AssertionError("files that git cannot list count as unchanged")

"""The Dockerfile, read as far as its promises go; tests/e2e/test_image.py builds it."""

import re
import tomllib

from tests.deploy.image import stages, versions
from tests.deploy.policies_configmap import ROOT
from tests.e2e.image.built import inputs


def test_the_one_base_is_debian_of_a_release_and_what_runs_has_none() -> None:
    assert stages()[0] == [("ARG", "BUILDER=debian:trixie-slim")]
    bases = [rest.split()[0] for words in stages()[1:] for word, rest in words if word == "FROM"]
    assert bases == ["${BUILDER}", "scratch"]


def test_the_final_stage_runs_nothing_and_is_nobody() -> None:
    final = stages()[-1]
    words = [word for word, _ in final]
    assert "RUN" not in words
    assert "ADD" not in words
    assert ("USER", "65532:65532") in final
    copied = [rest for word, rest in final if word == "COPY"]
    assert copied == ["--from=builder /runtime /", "--from=builder /image /"]
    entry = dict(final)["ENTRYPOINT"]
    assert entry == '["/usr/bin/python3", "-I", "-P", "-m", "rescheduler"]'
    assert "pip" not in " ".join(rest for _, rest in final)


def test_everything_is_installed_by_hash() -> None:
    runs = " && ".join(rest for word, rest in stages()[1] if word == "RUN")
    installs = re.findall(r"pip install [^&]*", runs)
    assert len(installs) == 3
    for install in installs:
        assert "--require-hashes" in install or "--no-deps --no-index" in install
    assert "kubernetes/aio" in runs


def test_what_is_copied_exists_and_may_reach_the_builder() -> None:
    allowed = {
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"
    }
    for word, rest in stages()[1]:
        if word == "COPY":
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists()
                assert source in allowed


def test_the_version_of_python_is_that_of_the_base() -> None:
    for path in (ROOT / "Dockerfile", *(ROOT / "deploy" / "image").iterdir()):
        assert not re.search(r"python3\.\d", path.read_text()), path


def test_whatever_the_image_is_made_of_decides_whether_it_is_built_again() -> None:
    copied = [rest.split()[:-1] for word, rest in stages()[1] if word == "COPY"]
    sources = [ROOT / source for names in copied for source in names]
    recipe = [ROOT / "Dockerfile", ROOT / "deploy" / "image" / "build.sh"]
    files = set(inputs())
    for source in (*recipe, *sources):
        assert {source, *source.glob("**/*")} & files, source
    assert ROOT / "rescheduler" / "cli" / "main.py" in files
    assert not [file for file in files if "tests" in file.relative_to(ROOT).parts]


def test_the_lock_of_the_clouds_adds_libraries_to_the_tested_versions() -> None:
    """botocore wants an older python-dateutil, and so an older Kubernetes client."""
    plain, clouds = (versions(name) for name in ("requirements.lock", "requirements-clouds.lock"))
    arguments = [rest for word, rest in stages()[1] if word == "ARG"]
    assert arguments == ["LOCK=requirements.lock"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    extras = [requirement for of in optional.values() for requirement in of]
    assert {re.split("[><=]", extra)[0] for extra in extras} <= clouds.keys() - plain.keys()
    differ = {name for name, version in plain.items() if clouds.get(name) != version}
    assert differ <= {"kubernetes", "python-dateutil"}

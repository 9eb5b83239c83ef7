"""The locks agree: what is tested and released with is what runs."""

from tests.deploy.image import versions
from tests.release.artifacts import ROOT
from tests.release.materials import locked_packages


def test_what_runs_has_one_version_in_every_lock() -> None:
    runs = versions("requirements.lock")
    for lock in ("requirements-dev.lock", "requirements-release.lock"):
        other = versions(lock)
        assert {name: other.get(name) for name in runs} == runs, lock


def test_a_lock_is_read_as_it_installs_here() -> None:
    packages = dict(locked_packages(ROOT / "requirements.lock"))
    assert packages["numpy"] == versions("requirements.lock")["numpy"][0]
    assert packages.keys() <= {name.lower() for name in versions("requirements.lock")}
    assert "pywin32-ctypes" not in dict(locked_packages(ROOT / "requirements-release.lock"))

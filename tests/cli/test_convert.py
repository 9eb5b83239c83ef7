"""`rescheduler convert descheduler`: files in, policies and a policy test out."""

from pathlib import Path

from click.testing import CliRunner

from rescheduler.cli.main import program
from tests.policies.conversion.converting import one_line
from tests.policies.conversion.inputs import CONFIG_MAP, HELM


def run(*words: str, given: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(program, words, input=given)
    return result.exit_code, result.stdout, result.stderr


def test_it_writes_what_check_accepts_and_a_policy_test_that_holds(tmp_path: Path) -> None:
    source, out = tmp_path / "values.yaml", tmp_path / "policies.yaml"
    source.write_text(HELM.replace(", dry-run: true", ""))
    code, stdout, stderr = run("convert", "descheduler", str(source), "--out", str(out))
    assert (code, stdout) == (0, "")
    assert "1 policy of descheduler; " in stderr
    code, stdout, _ = run("check", str(out))
    assert code == 0
    assert "1 valid: Conformity too-many-restarts (Enforce)" in stdout
    code, stdout, _ = run("test", str(tmp_path / "policies_test.yaml"))
    assert code == 0
    assert "1 policy test in 1 file, 0 failed" in stdout


def test_without_a_file_to_write_it_prints_the_policies(tmp_path: Path) -> None:
    source = tmp_path / "map.yaml"
    source.write_text(CONFIG_MAP)
    code, stdout, _ = run("convert", "descheduler", str(source))
    assert code == 0
    assert one_line(stdout).startswith(f"# Converted from {source}: ConfigMap of v1.")
    assert "kind: Spread" in stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["map.yaml"]


def test_what_cannot_be_converted_ends_with_2_and_writes_nothing(tmp_path: Path) -> None:
    source, out = tmp_path / "map.yaml", tmp_path / "policies.yaml"
    source.write_text(CONFIG_MAP.replace("excludeOwnerKinds", "excludeOwners"))
    code, _, stderr = run("convert", "descheduler", str(source), "--out", str(out))
    assert code == 2
    assert "map.yaml:13:16: RemoveDuplicates: excludeOwners: unknown field" in stderr
    assert not out.exists()


def test_the_source_is_never_overwritten(tmp_path: Path) -> None:
    source = tmp_path / "map.yaml"
    source.write_text(CONFIG_MAP)
    assert run("convert", "descheduler", str(source), "--out", str(source))[0] == 2
    assert source.read_text() == CONFIG_MAP


def test_a_file_that_is_not_there_is_one_problem(tmp_path: Path) -> None:
    code, _, stderr = run("convert", "descheduler", str(tmp_path / "none.yaml"))
    assert code == 2
    assert "none.yaml:1:1: cannot be read" in stderr


def test_the_help_asks_helm_for_all_values() -> None:
    assert "helm get values -a descheduler" in run("convert", "--help")[1]


def test_all_values_that_helm_prints_are_converted(tmp_path: Path) -> None:
    source = tmp_path / "values.yaml"
    source.write_text(f"COMPUTED VALUES:\n{HELM}")
    code, stdout, _ = run("convert", "descheduler", str(source))
    assert code == 0
    assert "kind: Conformity" in stdout

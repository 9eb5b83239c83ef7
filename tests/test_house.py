"""The rules of the house that a machine can check."""

import ast
import re
import tomllib
from pathlib import Path

import grimp
import pytest

from rescheduler.model.reasons import CATALOG
from rescheduler.policies.registry import KINDS
from tests.cases import every

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = sorted((ROOT / "rescheduler").rglob("*.py"))
MODULES = [
    *PACKAGE,
    *sorted((ROOT / "tests").rglob("*.py")),
]
FORBIDDEN_NAMES = {"utils", "helpers", "common", "manager", "handler", "engine", "processor"}
KIND_MODULES = {kind: ".".join(model.__module__.split(".")[:3]) for kind, model in KINDS.items()}
"""Each policy kind's own module, or the package of its modules."""


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def named(paths: list[Path]) -> dict[str, tuple[Path]]:
    """The files by their names, as cases of a rule."""
    return {str(path.relative_to(ROOT)): (path,) for path in paths}


LARGE = {
    "rescheduler/model/moves/plan.py": "the file format of plans and outcomes",
    "rescheduler/acting/sender.py": "the one way in which anything is evicted",
    "rescheduler/kube/objects.py": "what is read of nodes and pods, in Kubernetes' own words",
    "tests/catalogue/test_process_and_time.py": "one chapter of the catalogue of failures",
    "tests/catalogue/test_security.py": "one chapter of the catalogue of failures",
}
"""Modules of over 400 lines, and why each is one thing: cutting one into ancestors is no answer."""


@every(named(MODULES))
def test_a_module_has_one_reason_to_exist(path: Path) -> None:
    named = str(path.relative_to(ROOT))
    assert lines(path) <= 425 or named in LARGE, "does it do two things?"
    assert lines(path) > 400 or named not in LARGE, "it needs no reason any more"
    assert path.stem not in FORBIDDEN_NAMES


def test_the_package_is_made_of_small_modules() -> None:
    sizes = sorted(lines(path) for path in PACKAGE if path.name != "__init__.py")
    assert sizes[len(sizes) // 2] <= 140


@pytest.mark.parametrize("kind", KINDS)
def test_one_noun_has_its_files(kind: str) -> None:
    noun = kind.lower()
    assert KIND_MODULES[kind] == f"rescheduler.policies.{noun}"
    for path in (
        f"policies/{noun}.yaml",
        f"policies/{noun}_test.yaml",
        f"rescheduler/policies/{noun}/policy.py",
        f"tests/policies/{noun}/test_{noun}.py",
    ):
        assert (ROOT / path).is_file(), path


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("rescheduler", cache_dir=None)


def of_kind(kind: str, imports: grimp.ImportGraph) -> set[str]:
    """The modules of a policy kind that its name tells."""
    own = KIND_MODULES[kind]
    return {module for module in imports.modules if module == own or module.startswith(f"{own}.")}


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_registry_knows_a_policy_kind(kind: str, imports: grimp.ImportGraph) -> None:
    own = of_kind(kind, imports)
    importers = {
        find_module
        for module in own
        for find_module in imports.find_modules_that_directly_import(module)
    }
    assert importers - own == {"rescheduler.policies.registry"}


@pytest.mark.parametrize("kind", KINDS)
def test_no_policy_kind_knows_another(kind: str, imports: grimp.ImportGraph) -> None:
    known = {
        upstream_module
        for module in of_kind(kind, imports)
        for upstream_module in imports.find_upstream_modules(module)
    }
    for other in set(KINDS) - {kind}:
        assert not known & of_kind(other, imports), other


@pytest.mark.parametrize("source", ["prometheus", "datasets"])
def test_only_the_port_of_readings_knows_a_metric_source(
    source: str, imports: grimp.ImportGraph
) -> None:
    own = f"rescheduler.sources.{source}"
    modules = [
        module for module in imports.modules if module == own or module.startswith(f"{own}.")
    ]
    importers = {
        importer
        for module in modules
        for importer in imports.find_modules_that_directly_import(module)
        if not importer.startswith("rescheduler.sources.")
    }
    # Discovery asks candidates for the port.
    importers.discard("rescheduler.runtime.metric_discovery")
    assert importers == {"rescheduler.runtime.reading_sources"}


def test_what_is_worked_out_on_arrays_is_only_a_proposal(imports: grimp.ImportGraph) -> None:
    """It knows no landings and refusals, so nothing plans by it but what evaluates each move."""
    name = "rescheduler.planning.improve"
    own = {name, *imports.find_descendants(name)}
    importers = {
        (module, part) for part in own for module in imports.find_modules_that_directly_import(part)
    }
    assert {pair for pair in importers if pair[0] not in own} == {
        ("rescheduler.planning.plan.decision", f"{name}.better_plan")
    }


def test_acting_knows_the_cluster_by_what_it_is_given_alone(imports: grimp.ImportGraph) -> None:
    # What an eviction was answered, and what its pod shows, is data, and part of the port.
    data = {"rescheduler.actions.evict", "rescheduler.actions.seen_pod"}
    parts = imports.find_descendants("rescheduler.actions") - data
    importers = {
        module for part in parts for module in imports.find_modules_that_directly_import(part)
    }
    # The parts that an actor is given are named in one place, and made by `live_actor`.
    given = {f"rescheduler.actions.{name}" for name in ("kueue_workloads", "lease", "ledger")}
    actor = "rescheduler.acting.actor"
    named = imports.find_modules_directly_imported_by(actor)
    assert {module for module in named if module.startswith("rescheduler.actions.")} == given | data
    assert {
        importer for importer in importers if not importer.startswith("rescheduler.actions.")
    } == {
        actor,
        "rescheduler.runtime.inspecting.cluster_status",
        "rescheduler.runtime.inspecting.expected_rights",
        "rescheduler.runtime.inspecting.reviewed_rights",
        "rescheduler.runtime.live_actor",
        "rescheduler.runtime.page_access",
        "rescheduler.runtime.pausing",
        "rescheduler.runtime.stored_history",
        "rescheduler.runtime.report_keeping",
        "rescheduler.runtime.resetting",
        "rescheduler.runtime.steering_seen",
        # Servers of their own, which follow the table of replacements and act on nothing.
        "rescheduler.runtime.servers.extender.extender_server",
        "rescheduler.runtime.servers.extender.lease_writer",
        "rescheduler.runtime.servers.webhook.admission_review",
        "rescheduler.runtime.servers.webhook.own_certificate",
        "rescheduler.runtime.servers.webhook.webhook_server",
    }


def pure_modules() -> list[Path]:
    """The modules of the packages that a contract keeps from `pathlib`."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    pure = [
        contract for contract in contracts if "pathlib" in contract.get("forbidden_modules", ())
    ]
    packages = {package for contract in pure for package in contract["source_modules"]}
    folders = [ROOT / package.replace(".", "/") for package in packages]
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


IMPURE = {"open", "exec", "eval", "compile", "__import__", "input", "print", "breakpoint"}
"""Builtins that read or write, or could do anything; no import tells of them."""


def builtins_used(source: str) -> set[str]:
    """The builtins of IMPURE that a module looks up by their name."""
    names = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Load)} & IMPURE


@every(named(pure_modules()))
def test_a_pure_package_opens_no_file(path: Path) -> None:
    assert not builtins_used(path.read_text(encoding="utf-8"))


def test_a_builtin_that_opens_a_file_is_seen() -> None:
    assert builtins_used("def f(p):\n    with open(p) as s:\n        return s.read()") == {"open"}
    assert not builtins_used("self.open()")


def test_nothing_outside_of_policies_names_a_policy_kind_or_its_codes() -> None:
    families = {code for model in KINDS.values() for code in model.codes if code not in CATALOG}
    named = {*KINDS, *families, *(code for code in CATALOG if code[:3] in families)}
    for path in PACKAGE:
        if "policies" in path.relative_to(ROOT).parts or path.name == "reasons.py":
            continue
        texts = {
            node.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert not texts & named, path
    for path in (ROOT / "rescheduler").rglob("*.j2"):
        text = path.read_text(encoding="utf-8")
        assert not {word for word in named if f'"{word}"' in text}, path


def test_every_reason_code_that_is_used_is_in_the_catalog() -> None:
    used = set()
    for path in PACKAGE:
        if path.name != "reasons.py":
            used |= set(re.findall(r'"([A-Z]{3}\d{3})"', path.read_text(encoding="utf-8")))
    assert used <= set(CATALOG), sorted(used - set(CATALOG))


def test_every_reason_code_in_the_catalog_is_used() -> None:
    text = "".join(p.read_text(encoding="utf-8") for p in PACKAGE if p.name != "reasons.py")
    assert not sorted(code for code in CATALOG if f'"{code}"' not in text)


def test_every_reason_has_a_sentence_and_advice() -> None:
    for reason in CATALOG.values():
        assert reason.sentence.endswith("."), reason.code
        assert reason.advice or reason.code == "ACT001", reason.code


def test_nothing_speaks_of_the_place_where_it_was_made() -> None:
    places = re.compile(r"/wor[k]/|/far[m]/|[.]librar[y]|/roo[t]/")
    for path in ROOT.rglob("*"):
        if path.suffix in {".py", ".md", ".yaml", ".toml", ".j2"} and ".venv" not in path.parts:
            assert not places.search(path.read_text(encoding="utf-8")), path

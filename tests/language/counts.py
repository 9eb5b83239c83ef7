"""What is counted, and where each case stands."""

import ast
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ROOT / "rescheduler"
TESTS = ROOT / "tests"
MOST_LETTERS = 70
"""Of a test's name."""

WORDS: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in tomllib.loads(
        Path(__file__).with_name("words.toml").read_text(encoding="utf-8")
    ).items()
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.comprehension)
OWNERS = (ast.Module, *FUNCTIONS, ast.ClassDef)
LOOKED_AT = (*OWNERS, *LOOPS, ast.Name, ast.arg, ast.Constant)
LOOP_OVER_EACH = re.compile(r"\bfor (?:\w+, )*\(?each(?:, \w+)*\)? in\b")
LONG_TEST_NAME = re.compile(rf"\bdef (test_\w{{{MOST_LETTERS - 4},}})")
IMPORT_OF_A_TEST_MODULE = re.compile(
    r"^ *(?:from|import) tests[\w.]*(?:\.test_\w+| import \(?\s*test_\w+).*",
    re.MULTILINE,
)
PHRASE = "|".join(sorted(WORDS["private_phrases"])).replace("_", " ")
PHRASES = re.compile(rf"\b({PHRASE})\b", re.IGNORECASE)
EXPLAINED = re.compile(r"(?:^|\. |\n)([a-z_]+(?:, [a-z_]+)*): ")
"""Names that a docstring explains, at the beginning of a line or of a sentence."""
PART_OF_A_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@cache
def texts(folder: Path) -> dict[str, str]:
    """The modules below a folder, by their path in the tree."""
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.py"))
    }


@cache
def product_nodes() -> list[tuple[str, ast.AST]]:
    """What the counts look at of the product's modules, with the module's path."""
    return [
        (path, node)
        for path, text in texts(PRODUCT).items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, LOOKED_AT)
    ]


def is_bare(name: str) -> bool:
    """Whether a function's name is a preposition, a pronoun or a participle, and nothing else."""
    word = name.strip("_")
    if name.startswith("__") or "_" in word or word in WORDS["no_participles"]:
        return False
    ends_as_one = word.islower() and word.endswith(("ed", "ing"))
    return (
        ends_as_one
        or word in WORDS["prepositions_and_pronouns"]
        or word in WORDS["irregular_participles"]
    )


def is_private(name: str) -> bool:
    """Whether a name is, or has in it, a word that only this project uses so."""
    parts = {part.lower() for part in PART_OF_A_NAME.findall(name)}
    return bool(parts & WORDS["private_parts"]) or name.strip("_") in WORDS["private_names"]


def classes_of_one_name() -> list[str]:
    """Names of public classes of the product that name several of them."""
    where = defaultdict(list)
    for path, node in product_nodes():
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            where[node.name].append(path)
    return [
        f"{name}: {', '.join(paths)}"
        for name, paths in sorted(where.items())
        if len(paths) > 1 and name not in WORDS["kubernetes_classes"]
    ]


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a method is read as a field is, so that it is named as one."""
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def functions_of_bare_names() -> list[str]:
    """Functions and methods of the product that are named by no verb and no noun."""
    return [
        f"{path}:{node.lineno} {node.name}"
        for path, node in product_nodes()
        if isinstance(node, FUNCTIONS) and is_bare(node.name) and not is_property(node)
    ]


def files_of_one_name() -> list[str]:
    """Names of the product's files that stand in several folders.

    A verb of the command line is named after what it prints, and each kind has a policy and a term.
    """
    where = defaultdict(list)
    for path in texts(PRODUCT):
        folder, _, name = path.rpartition("/")
        of_a_kind = folder.startswith("rescheduler/policies/") and name in {"policy.py", "term.py"}
        if name != "__init__.py" and folder != "rescheduler/cli" and not of_a_kind:
            where[name].append(path)
    return [
        f"{name}: {', '.join(paths)}" for name, paths in sorted(where.items()) if len(paths) > 1
    ]


def matches_in_tests(pattern: re.Pattern[str]) -> list[str]:
    """Where a pattern stands in the modules of the tests."""
    return [
        f"{path}:{text.count(chr(10), 0, match.start()) + 1} {match[0].strip()}"
        for path, text in texts(TESTS).items()
        for match in pattern.finditer(text)
    ]


def loops_over_each() -> list[str]:
    """Loops of the product whose variable says nothing of what it holds."""
    return [
        f"{path}:{node.target.lineno}"
        for path, node in product_nodes()
        if isinstance(node, LOOPS)
        and any(isinstance(name, ast.Name) and name.id == "each" for name in ast.walk(node.target))
    ]


def names_given(node: ast.AST) -> list[str]:
    """The names that a node gives to something."""
    if isinstance(node, ast.Name):
        return [node.id] if isinstance(node.ctx, ast.Store) else []
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return [node.name]
    return []


def private_names() -> list[str]:
    """Names in the product that are made of private words."""
    places = Counter(
        f"{path} {name}"
        for path, node in product_nodes()
        for name in names_given(node)
        if is_private(name)
    )
    return sorted(places.elements())


def names_within(node: ast.AST) -> set[str]:
    """What a docstring of this definition may explain: parameters, and of a class all it names."""
    names = {argument.arg for argument in ast.walk(node) if isinstance(argument, ast.arg)}
    if isinstance(node, ast.ClassDef):
        for part in ast.walk(node):
            if isinstance(part, FUNCTIONS):
                names.add(part.name)
            elif isinstance(part, (ast.Name, ast.Attribute)):
                names.add(part.id if isinstance(part, ast.Name) else part.attr)
    return names


def explained_absent_names() -> list[str]:
    """What docstrings of the product explain, as `name: ...`, and is there under no such name."""
    return [
        f"{path}:{node.lineno} {name}"
        for path, node in product_nodes()
        if isinstance(node, (*FUNCTIONS, ast.ClassDef))
        for text in [(ast.get_docstring(node) or "").partition("Raises:")[0]]
        for names in EXPLAINED.findall(text)
        for name in names.split(", ")
        if name not in names_within(node)
    ]


def docstrings() -> set[ast.expr]:
    """The product's docstrings that no operator reads, which are those of policies' fields."""
    return {
        statement.value
        for path, node in product_nodes()
        if isinstance(node, OWNERS)
        and not (isinstance(node, ast.ClassDef) and path.startswith("rescheduler/policies/"))
        for statement in node.body
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    }


def private_words_in_sentences() -> list[str]:
    """Private words in the product's strings, templates and documentation of fields."""
    unread = docstrings()
    cases = [
        f"{path}:{node.lineno} {word}"
        for path, node in product_nodes()
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if node not in unread and " " in node.value
        for word in PHRASES.findall(node.value)
    ]
    for template in sorted(PRODUCT.rglob("*.j2")):
        text = re.sub(r"\{[{%#].*?[}%#]\}", "", template.read_text(encoding="utf-8"))
        cases += [f"{template.relative_to(ROOT)} {word}" for word in PHRASES.findall(text)]
    return cases


def lines(paths: list[Path]) -> int:
    """Lines of some files, as `wc -l` counts them."""
    return sum(path.read_bytes().count(b"\n") for path in paths)


def other_test_files() -> list[Path]:
    """What tests read and is no Python: goldens, vectors, sums, recordings, seeded faults."""
    return [
        path
        for path in sorted(TESTS.rglob("*"))
        if path.is_file() and path.suffix not in {".py", ".pyc"} and "__pycache__" not in path.parts
    ]


def sizes() -> dict[str, int]:
    """Lines of the product and of its tests."""
    return {
        "Python lines of the product": lines(sorted(PRODUCT.rglob("*.py"))),
        "Python lines of the tests": lines(sorted(TESTS.rglob("*.py"))),
        "lines of other test files": lines(other_test_files()),
    }


CASES: dict[str, Callable[[], list[str]]] = {
    "classes_of_one_name": classes_of_one_name,
    "functions_of_bare_names": functions_of_bare_names,
    "files_of_one_name": files_of_one_name,
    "loops_over_each_in_the_product": loops_over_each,
    "loops_over_each_in_tests": lambda: matches_in_tests(LOOP_OVER_EACH),
    "private_names": private_names,
    "explained_absent_names": explained_absent_names,
    "private_words_in_sentences": private_words_in_sentences,
    "long_test_names": lambda: matches_in_tests(LONG_TEST_NAME),
    "imports_of_test_modules": lambda: matches_in_tests(IMPORT_OF_A_TEST_MODULE),
}
"""What is counted, by its name in `maxima.toml`."""

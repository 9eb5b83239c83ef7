"""`python -m tests.deploy.monitoring`: writes the files that are made from the catalogue."""

from tests.deploy.monitoring.files import made_files

for path, text in made_files().items():
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")

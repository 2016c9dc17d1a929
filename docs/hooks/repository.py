"""Links that leave docs/ work on the site as they do on a Git host: what they lead to becomes a page of the site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
OWN_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")  # of the repository's first folder
LANGUAGES = {".py": "python", ".toml": "toml", ".cff": "yaml", ".yml": "yaml"}
FENCE = "`" * 4


def page_of(path: str, root: Path) -> str:
    """Where a file of the repository is in the site's sources; a folder is its index."""
    if path == "README.md":
        return "index.md"
    if path in OWN_PAGES:
        return path
    if path == "docs" or (path.startswith("docs/") and not path.startswith(("docs/scripts", "docs/hooks"))):
        page = posixpath.relpath(path, "docs")
        return posixpath.join(page, index_of(root / path)) if (root / path).is_dir() else page
    return f"source/{path}.md"


def index_of(folder: Path) -> str:
    return "index.md" if (folder / "index.md").exists() else "README.md"


def is_made(path: str, root: Path) -> bool:
    """Whether the site has this file or folder of the repository only if a page is made for it."""
    page = page_of(path, root)
    return page.startswith("source/") or ((root / path).is_dir() and not (root / "docs" / page).exists())


def rewritten(markdown: str, page: str, origin: str, root: Path) -> str:
    """A page's links, for the site. ``page`` is its path in the site's sources, ``origin`` in the repository."""

    def link(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), match[1]))
        if target.startswith("..") or not (root / target).exists():
            return match[0]  # the build says that it leads nowhere
        return posixpath.relpath(page_of(target, root), posixpath.dirname(page) or ".") + (match[2] or "")

    parts = re.split(r"(^```.*?^```|`[^`\n]+`)", markdown, flags=re.S | re.M)
    return "".join(part if part.startswith("`") else LINK.sub(link, part) for part in parts)


def source_page(path: str, root: Path) -> str:
    """A file of the repository as a page; a folder as a list of what is in it, with links to what the site has."""
    place = root / path
    if place.is_dir():
        names = [entry.name for entry in sorted(place.iterdir())]
        linked = path.startswith("docs/")
        return f"# `{path}/`\n\n" + "\n".join(f"- [{n}]({n})" if linked else f"- `{n}`" for n in names)
    language = LANGUAGES.get(place.suffix, "text")
    return f"# `{path}`\n\n{FENCE}{language}\n{place.read_text()}\n{FENCE}\n"


def on_files(files: Any, config: Any) -> Any:
    root, wanted = Path(config.config_file_path).parent, set()
    for name in OWN_PAGES:
        files.append(File.generated(config, name, content=rewritten((root / name).read_text(), name, name, root)))
    for origin in [*root.glob("docs/**/*.md"), *(root / name for name in OWN_PAGES)]:
        for match in LINK.finditer(origin.read_text()):
            target = posixpath.normpath(posixpath.join(origin.parent.relative_to(root).as_posix(), match[1]))
            if (root / target).exists() and is_made(target, root):
                wanted.add(target)
    for target in sorted(wanted):
        files.append(File.generated(config, page_of(target, root), content=source_page(target, root)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    if page.file.generated_by:
        return markdown
    root = Path(config.config_file_path).parent
    return rewritten(markdown, page.file.src_uri, f"docs/{page.file.src_uri}", root)

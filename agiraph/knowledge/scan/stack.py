"""Stack: a project's tech stack and patterns, from its manifests and files."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agiraph.core.json_text import parse_json
from agiraph.knowledge.scan.languages import CODE, language_of

DEEPEST_MANIFEST: Final = 2
MOST_MANIFESTS: Final = 20
MOST_SHOWN: Final = 12
LEAST_SHARE: Final = 0.6
Read = Callable[[str], str]

SYSTEMS: Final = {
    "pyproject.toml": "Python",
    "setup.py": "Python",
    "requirements.txt": "Python",
    "package.json": "Node.js",
    "tsconfig.json": "TypeScript",
    "Cargo.toml": "Rust",
    "go.mod": "Go",
    "pom.xml": "Maven",
    "build.gradle": "Gradle",
    "build.gradle.kts": "Gradle",
    "Gemfile": "Ruby",
    "composer.json": "PHP",
    "CMakeLists.txt": "CMake",
    "Package.swift": "Swift",
    "mix.exs": "Elixir",
    "pubspec.yaml": "Dart",
    "deno.json": "Deno",
    "Dockerfile": "Docker",
    "docker-compose.yml": "Docker Compose",
    "docker-compose.yaml": "Docker Compose",
    "compose.yaml": "Docker Compose",
    "Makefile": "Make",
    "main.tf": "Terraform",
    "Chart.yaml": "Helm",
    "uv.lock": "uv",
    "poetry.lock": "Poetry",
    "package-lock.json": "npm",
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "Yarn",
}
"""Manifest files at the top of a project or of its parts, and the systems that they indicate."""

NAMES: Final = """
    Django Flask FastAPI Starlette SQLAlchemy pydantic Celery pandas NumPy SciPy PyTorch TensorFlow
    Keras transformers LangChain Scrapy aiohttp httpx Streamlit Jinja2 click Typer React Vue Svelte
    Next Nuxt Angular Express Fastify NestJS Vite webpack Rollup Tailwindcss Redux GraphQL Prisma
    Electron Astro Remix Playwright Cypress Storybook Three tokio serde axum actix-web clap diesel
    Rails Sinatra Laravel Symfony Phoenix Ecto anthropic openai pyzmq Textual Ray boto3 redis
    psycopg asyncpg pymongo"""
LIBRARIES: Final = {name.lower(): name for name in NAMES.split()} | {
    "torch": "PyTorch", "@angular/core": "Angular", "@nestjs/core": "NestJS", "vuejs": "Vue",
    "@sveltejs/kit": "SvelteKit", "scikit-learn": "scikit-learn", "github.com/gin-gonic/gin": "Gin",
    "github.com/labstack/echo": "Echo", "gorm.io/gorm": "GORM", "k8s.io/client-go": "client-go",
    "spring-boot": "Spring Boot", "laravel/framework": "Laravel",
}  # fmt: skip
TEST_TOOLS: Final = {
    "pytest": "pytest", "hypothesis": "Hypothesis", "jest": "Jest", "vitest": "Vitest",
    "mocha": "Mocha", "@playwright/test": "Playwright", "playwright": "Playwright",
    "cypress": "Cypress", "rspec": "RSpec", "phpunit/phpunit": "PHPUnit", "junit": "JUnit",
}  # fmt: skip
STYLE_TOOLS: Final = {
    "ruff": "ruff", "black": "Black", "mypy": "mypy", "pyright": "Pyright", "isort": "isort",
    "flake8": "Flake8", "pylint": "Pylint", "eslint": "ESLint", "prettier": "Prettier",
    "biome": "Biome", "@biomejs/biome": "Biome", "rubocop": "RuboCop", "typescript": "tsc",
    "import-linter": "import-linter", "pre-commit": "pre-commit", "stylelint": "Stylelint",
}  # fmt: skip
STYLE_FILES: Final = {
    ".pre-commit-config.yaml": "pre-commit", ".eslintrc.json": "ESLint", ".prettierrc": "Prettier",
    "eslint.config.js": "ESLint", ".editorconfig": "EditorConfig", "rustfmt.toml": "rustfmt",
    ".clang-format": "clang-format", "mypy.ini": "mypy", "ruff.toml": "ruff", ".flake8": "Flake8",
    ".golangci.yml": "golangci-lint", "biome.json": "Biome",
}  # fmt: skip
TEST_FILE: Final = re.compile(r"(?:^|/)(?:test_[^/]+|[^/]+[._-](?:test|spec)\.\w+|[^/]+Test\.\w+)$")
TARGET: Final = re.compile(r"^([A-Za-z][\w.-]*)\s*:(?!=)", re.M)
GO_MODULE: Final = re.compile(r"^\s*(?:require\s+)?([\w.-]+\.[\w./-]+)\s+v\d", re.M)
GRADLE: Final = re.compile(r"[\"']([\w.-]+:[\w.-]+)(?::[\w.-]+)?[\"']")
MAVEN: Final = re.compile(r"<artifactId>([^<]{1,100})</artifactId>")
GEM: Final = re.compile(r"^\s*gem\s+[\"']([\w-]+)", re.M)
NAME: Final = re.compile(r"[A-Za-z0-9@][\w.@/-]*")


@dataclass(frozen=True, slots=True)
class FoundPattern:
    """A convention that the whole project follows; `files` are examples."""

    key: str
    title: str
    text: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifests:
    """The contents of the manifests of a project."""

    systems: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    needs: frozenset[str] = frozenset()
    commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def manifests_of(paths: Iterable[str], read: Read) -> Manifests:
    """Return the contents of the manifests at the top of the project and of its parts."""
    found = [
        path
        for path in paths
        if path.count("/") <= DEEPEST_MANIFEST and path.rpartition("/")[2] in SYSTEMS
    ]
    found = sorted(found, key=lambda path: (path.count("/"), path))[:MOST_MANIFESTS]
    needs: set[str] = set()
    commands: dict[str, tuple[str, ...]] = {}
    for path in found:
        more, offered = _read_manifest(path.rpartition("/")[2], read(path))
        needs |= more
        if offered:
            commands[path] = offered[:MOST_SHOWN]
    systems = dict.fromkeys(SYSTEMS[path.rpartition("/")[2]] for path in found)
    return Manifests(tuple(systems), tuple(found), frozenset(needs), commands)


def stack_of(languages: Mapping[str, int], manifests: Manifests) -> tuple[str, ...]:
    """Return the tech stack: languages by their number of files, systems, known libraries."""
    spoken = sorted(
        (name for name in languages if name in CODE), key=lambda name: (-languages[name], name)
    )
    known = sorted({LIBRARIES[name] for name in manifests.needs if name in LIBRARIES})
    return tuple(dict.fromkeys([*spoken[:5], *manifests.systems, *known]))


def _read_manifest(name: str, text: str) -> tuple[set[str], tuple[str, ...]]:
    """Return the requirements of a manifest, in lower case, and the commands that it offers."""
    try:
        match name:
            case "pyproject.toml" | "Cargo.toml":
                return _of_toml(tomllib.loads(text)), ()
            case "package.json" | "composer.json":
                return _of_json(parse_json(text))
            case "requirements.txt":
                names = (NAME.match(line.strip()) for line in text.splitlines())
                return {name[0].lower() for name in names if name}, ()
            case "go.mod":
                return {found.lower() for found in GO_MODULE.findall(text)}, ()
            case "Gemfile":
                return {found.lower() for found in GEM.findall(text)}, ()
            case "pom.xml":
                return _artifacts(MAVEN.findall(text)), ()
            case "build.gradle" | "build.gradle.kts":
                return _artifacts(found.partition(":")[2] for found in GRADLE.findall(text)), ()
            case "Makefile":
                return set(), tuple(dict.fromkeys(f"make {one}" for one in TARGET.findall(text)))
            case _:
                return set(), ()
    except (ValueError, AttributeError, TypeError, RecursionError):
        return set(), ()  # a manifest in another format contributes nothing


def _of_toml(value: dict[str, Any]) -> set[str]:
    project = value.get("project", {})
    listed = list(project.get("dependencies", []))
    for group in (project.get("optional-dependencies", {}), value.get("dependency-groups", {})):
        listed += [one for names in group.values() for one in names]
    tables = [value.get(name, {}) for name in ("dependencies", "dev-dependencies")]
    tools = value.get("tool", {})
    tables += [tools, tools.get("poetry", {}).get("dependencies", {})]
    names = [*listed, *(name for table in tables for name in table)]
    return {_name(one) for one in names if isinstance(one, str)}


def _of_json(value: dict[str, Any]) -> tuple[set[str], tuple[str, ...]]:
    tables = ("dependencies", "devDependencies", "peerDependencies", "require", "require-dev")
    names = {name.lower() for table in tables for name in value.get(table, {})}
    return names, tuple(f"npm run {name}" for name in value.get("scripts", {}))


def _artifacts(names: Iterable[str]) -> set[str]:
    """Return names of Maven artifacts; `spring-boot-starter-web` gives `spring-boot` too."""
    found = {name.lower() for name in names}
    return found | {"spring-boot" for name in found if name.startswith("spring-boot")}


def _name(requirement: str) -> str:
    found = NAME.match(requirement)
    return re.split(r"[<>=!~;\[ ]", found[0])[0].lower() if found else ""


# --- patterns ------------------------------------------------------------------------------------


def patterns_of(paths: Sequence[str], manifests: Manifests) -> list[FoundPattern]:
    """Return the patterns that the project's files and manifests show."""
    found = [
        _tests(paths, manifests),
        _style(paths, manifests),
        _commands(manifests),
        _automation(paths),
        _layout(paths),
        *_naming(paths),
    ]
    return [pattern for pattern in found if pattern is not None]


def _tests(paths: Sequence[str], manifests: Manifests) -> FoundPattern | None:
    tests = [path for path in paths if TEST_FILE.search(path)]
    if not tests:
        return None
    folders = Counter(path.split("/")[0] if "/" in path else "." for path in tests)
    where = ", ".join(f"{folder}/" for folder, _ in folders.most_common(3))
    tools = _named(manifests.needs, TEST_TOOLS)
    with_tools = f", with {', '.join(tools)}" if tools else ""
    text = f"{len(tests)} test files, most in {where}{with_tools}."
    return FoundPattern("tests", f"Tests: {where}{with_tools}", text, tuple(tests[:3]))


def _style(paths: Sequence[str], manifests: Manifests) -> FoundPattern | None:
    files = [path for path in paths if path in STYLE_FILES]
    tools = sorted({*_named(manifests.needs, STYLE_TOOLS), *(STYLE_FILES[path] for path in files)})
    if not tools:
        return None
    text = f"Code is checked and formatted with {', '.join(tools)}."
    return FoundPattern("style", f"Style: {', '.join(tools)}", text, tuple(files[:3]))


def _commands(manifests: Manifests) -> FoundPattern | None:
    if not manifests.commands:
        return None
    lines = [f"- {path}: {', '.join(names)}" for path, names in manifests.commands.items()]
    first = next(iter(manifests.commands.values()))
    title = f"Commands: {', '.join(first[:5])}"
    return FoundPattern("commands", title, "\n".join(lines), tuple(manifests.commands)[:3])


def _automation(paths: Sequence[str]) -> FoundPattern | None:
    ways = {
        ".github/workflows/": "GitHub Actions",
        ".gitlab-ci.yml": "GitLab CI",
        ".circleci/": "CircleCI",
        "Jenkinsfile": "Jenkins",
        "azure-pipelines.yml": "Azure Pipelines",
    }
    files = [path for path in paths if path.startswith(tuple(ways))]
    names = dict.fromkeys(name for begin, name in ways.items() for path in files
                          if path.startswith(begin))  # fmt: skip
    if not names:
        return None
    text = "\n".join(f"- {path}" for path in files[:MOST_SHOWN])
    return FoundPattern("automation", f"CI: {', '.join(names)}", text, tuple(files[:3]))


def _layout(paths: Sequence[str]) -> FoundPattern | None:
    folders: dict[str, Counter[str]] = {}
    for path in paths:
        top, slash, _ = path.partition("/")
        if slash:
            folders.setdefault(top, Counter())[language_of(path.rpartition("/")[2])] += 1
    if not folders:
        return None
    largest = sorted(folders, key=lambda top: (-folders[top].total(), top))[:MOST_SHOWN]
    lines = []
    for top in largest:
        language = folders[top].most_common(1)[0][0]
        lines.append(f"- {top}/: {folders[top].total()} files{f', {language}' if language else ''}")
    title = f"Layout: {', '.join(f'{top}/' for top in largest[:6])}"
    return FoundPattern("layout", title, "\n".join(lines))


def _naming(paths: Sequence[str]) -> list[FoundPattern]:
    """Return the naming style of files in each main language, if most files share a style."""
    styles: dict[str, Counter[str]] = {}
    for path in paths:
        name = path.rpartition("/")[2]
        language = language_of(name)
        if language in CODE:
            styles.setdefault(language, Counter())[_style_of(name.partition(".")[0])] += 1
    found = []
    for language, counts in sorted(styles.items()):
        named = Counter({style: count for style, count in counts.items() if style})
        if named.total() < MOST_SHOWN:
            continue
        style, count = named.most_common(1)[0]
        if count >= LEAST_SHARE * named.total():
            title = f"Naming: {language} files are {style}"
            text = f"{count} of {named.total()} files whose names have several words."
            found.append(FoundPattern(f"naming {language}", title, text))
    return found


def _style_of(stem: str) -> str:
    """Return how the words of a file name are joined, for example snake_case; '' for one word."""
    if "_" in stem.strip("_"):
        return "snake_case"
    if "-" in stem:
        return "kebab-case"
    inner = stem[1:]
    if inner != inner.lower() and inner != inner.upper():
        return "PascalCase" if stem[:1].isupper() else "camelCase"
    return ""


def _named(needs: Iterable[str], tools: Mapping[str, str]) -> list[str]:
    return sorted({tools[name] for name in needs if name in tools})

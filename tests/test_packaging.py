"""What is installed with hudictl: no release with a known hole, by hash from the locks, and not as root."""

import re
import sys
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GROUPS = {"": PYPROJECT["project"]["dependencies"], **PYPROJECT["project"]["optional-dependencies"]}
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
SAFE = {
    "aiohttp": ("3.14.5", "GHSA-2g87-pp6c-29x5, GHSA-494j-54xm-rwp3"),
    "cryptography": ("50", "CVE-2026-69247"),
    "flask": ("3.1.3", "CVE-2026-27205"),
    "flask-cors": ("6", "CVE-2024-6839, CVE-2024-6844, CVE-2024-6866"),
    "orjson": ("3.11.6", "CVE-2025-67221; before 3.9.15: CVE-2024-27454"),
    "pyarrow": ("23.0.1", "CVE-2026-25087; before 14.0.1: CVE-2023-47248"),
    "pyjwt": ("2.15.1", "CVE-2026-101918, CVE-2026-102268"),
    "pyspark": ("3.5.2", "CVE-2025-55039"),
    "pytest": ("9.0.3", "CVE-2025-71176"),
    "requests": ("2.33", "CVE-2026-25645"),
    "setuptools": ("83", "CVE-2026-59890"),
    "urllib3": ("2.8", "GHSA-8988-9cw3-xx77, GHSA-vxq7-64xx-v4gw"),
}
"""The lowest release of a library without a known hole, and the holes of those before."""
BROUGHT = {
    "": {"urllib3"},
    "azure": {"aiohttp", "cryptography", "pyjwt"},
    "gcs": {"aiohttp", "cryptography"},
    "s3": {"aiohttp"},
}
"""Libraries that come with another one, whose own bound is too low."""


def requirements(group: str) -> dict[str, Requirement]:
    return {canonicalize_name(found.name): found for found in map(Requirement, GROUPS[group])}


def lowest(requirement: Requirement) -> Version:
    return Version(
        next(one.version for one in requirement.specifier if one.operator in (">=", "==")).removesuffix(".*")
    )


def locked(lock: Path) -> dict[str, set[Version]]:
    """The releases of each library: several, where one for all Pythons does not exist."""
    found: dict[str, set[Version]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([^\s;\\]+)", lock.read_text(encoding="utf-8"), re.MULTILINE):
        found.setdefault(canonicalize_name(name), set()).add(Version(version))
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_no_bound_allows_a_known_hole(group: str) -> None:
    holes = {
        name: SAFE[name]
        for name, found in requirements(group).items()
        if name in SAFE and lowest(found) < Version(SAFE[name][0])
    }
    assert not holes


@pytest.mark.parametrize(("group", "names"), BROUGHT.items())
def test_libraries_that_others_bring_have_a_bound_of_their_own(group: str, names: set[str]) -> None:
    assert names <= set(requirements(group))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_locks_hold_hashes_and_no_known_hole(lock: Path) -> None:
    """Run requirements/make after a change of a bound."""
    entries = re.split(r"\n(?=[\w.-]+==)", "\n" + lock.read_text(encoding="utf-8"))[1:]
    assert entries
    assert all("--hash=sha256:" in entry for entry in entries)
    holes = {
        name: SAFE[name]
        for name, versions in locked(lock).items()
        if name in SAFE and min(versions) < Version(SAFE[name][0])
    }
    assert not holes


@pytest.mark.parametrize(
    ("name", "groups"),
    [("container", ["", "jre", "s3", "zookeeper"]), ("lowest", ["", "test"])],
    ids=lambda one: str(one),
)
def test_locks_are_those_of_the_bounds(name: str, groups: list[str]) -> None:
    """Run requirements/make after a change of a bound."""
    versions = locked(ROOT / "requirements" / f"{name}.lock")
    for group in groups:
        for library, found in requirements(group).items():
            assert all(found.specifier.contains(version) for version in versions[library]), library
            if name == "lowest" and "==" not in str(found.specifier):
                assert min(versions[library]) == lowest(found), library


def test_what_builds_is_locked() -> None:
    versions = locked(ROOT / "requirements" / "build.lock")
    for found in map(Requirement, PYPROJECT["build-system"]["requires"]):
        assert all(found.specifier.contains(version) for version in versions[found.name])


def test_each_lock_is_used() -> None:
    assert [lock.name for lock in LOCKS] == ["build.lock", "container.lock", "lowest.lock"]
    assert all(f"requirements/{lock.name}" in CONTAINERFILE + CI for lock in LOCKS)


def test_the_container_has_a_user_and_takes_nothing_without_a_hash() -> None:
    commands = CONTAINERFILE.replace("\\\n", " ")
    assert re.search(r"^USER \$\{USER_ID\}$", commands.split("FROM ${BASE}\n")[1], re.MULTILINE)
    assert "ARG USER_ID=10001\n" in commands
    assert re.findall(r"^FROM (\S+)", commands, re.MULTILINE) == ["${BASE}", "${BASE}"]
    installs = re.findall(r"pip install [^&\n]*", commands)
    assert len(installs) == 3
    for install in installs:
        assert "--require-hashes" in install or "--no-deps" in install
        # What builds is locked, too: else pip takes the newest.
        assert "--no-build-isolation" in install or "build.lock" in install


def test_ci_takes_nothing_from_a_lock_without_its_hash() -> None:
    installs = re.findall(r"pip install [^&\"]*-r requirements/", CI)
    assert len(installs) == 2
    assert all("--require-hashes" in install for install in installs)


def test_what_the_wheel_takes_along_is_there() -> None:
    """The build leaves out what is not."""
    shared = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert "SECURITY.md" in shared
    assert all((ROOT / path).exists() for path in shared)


def test_type_checkers_see_the_types() -> None:
    assert (ROOT / "hudictl" / "py.typed").exists()
    try:
        installed = {str(file) for file in files("hudictl") or []}
    except PackageNotFoundError:
        pytest.skip("not installed: only the source has been looked at")
    # An editable one has no files of the package.
    assert "hudictl/py.typed" in installed or "hudictl/__main__.py" not in installed


def test_man_pages_are_installed() -> None:
    """The wheel's build makes them."""
    try:
        installed = {str(file) for file in files("hudictl") or []}
    except PackageNotFoundError:
        pytest.skip("not installed: only the source has been looked at")
    if "hudictl/__main__.py" in installed:
        assert any(file.endswith("share/man/man1/hudictl-restore.1") for file in installed)

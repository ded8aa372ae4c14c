"""The files of a release against what SHA256SUMS and the manifests say of them."""

import hashlib
from pathlib import Path, PurePosixPath

from psychemme.canonical import strict_json
from psychemme.release.faults import PRIVATE_MANIFEST, PUBLIC_MANIFEST, ROW_FILES, SUMS, Fault, Rule
from psychemme.release.parse import has_sums, is_known, parse_manifest, unknown_keys
from psychemme.release.rows import Manifest
from psychemme.release.sums import read_sums

PARTS = {"public": PUBLIC_MANIFEST, "private": PRIVATE_MANIFEST}


class Folder:
    """The files of a release, and what SHA256SUMS and the manifests say of them."""

    def __init__(self, root: Path) -> None:
        self.faults: list[Fault] = []
        self.has_private = (root / "private").is_dir()
        self._found = {p.relative_to(root).as_posix(): p for p in sorted(root.rglob("*"))}
        self.paths = {
            name: path
            for name, path in self._found.items()
            if path.is_file() and not path.is_symlink()
        }
        self.manifests = {part: m for part in PARTS if (m := self._manifest(part)) is not None}
        self.claims = {
            PARTS[part]: {f"{part}/{name}": sha256 for name, sha256 in manifest.files.items()}
            for part, manifest in self.manifests.items()
        }
        self._sums_altered = False
        if SUMS in self.paths:
            self.claims[SUMS], faults = read_sums(self.paths[SUMS].read_bytes())
            self._sums_altered = bool(faults)
            self.faults += faults
        self.listed = {name for claims in self.claims.values() for name in claims}

    def contents(self) -> dict[str, bytes]:
        """Return the listed files; what else lies there may be of any size."""
        own = self.listed | {SUMS, *PARTS.values()}
        return {name: self.paths[name].read_bytes() for name in sorted(self.paths.keys() & own)}

    def check_files(self) -> None:
        """Note what differs from its checksums, is listed but missing, or there but not listed."""
        for name in sorted(self.listed | self.paths.keys() | self._required()):
            if name.startswith("private/") and not self.has_private:
                continue
            if name in self.paths:
                self._check(name)
            elif name not in self._found:
                self._note(name, Rule.MISSING, "is missing")
        self._check_others()

    def _check_others(self) -> None:
        """Note what is neither a file nor a folder that holds one."""
        files = self.listed | self.paths.keys() | self._required()
        folders = {str(parent) for name in files for parent in PurePosixPath(name).parents}
        for name in sorted(self._found.keys() - self.paths.keys()):
            path = self._found[name]
            if path.is_symlink():
                self._note(name, Rule.EXTRA, "is a symbolic link")
            elif not path.is_dir():
                self._note(name, Rule.EXTRA, "is no regular file")
            elif name not in folders:
                self._note(name, Rule.EXTRA, "is a folder that holds no file")

    def _check(self, name: str) -> None:
        found = sha256_of(self.paths[name])
        lists = self._lists(name)
        said = {file: self.claims[file][name] for file in lists if name in self.claims[file]}
        unlisted = [file for file in lists if file not in said]
        if unlisted or not (lists or name in (SUMS, *PARTS.values())):
            self._note(name, Rule.EXTRA, f"is not listed in {' or '.join(unlisted) or SUMS}")
        wrong = [file for file, sha256 in said.items() if sha256 != found]
        if wrong and len(wrong) == len(said) and not (wrong == [SUMS] and self._sums_altered):
            self._note(name, Rule.CHECKSUM, f"has another SHA-256 than {' and '.join(wrong)} say")
        elif wrong:
            # Another list agrees with the file, or this one's own checksum tells against it.
            self._note(wrong[0], Rule.CHECKSUM, f"gives another SHA-256 for {name} than it has")

    def _lists(self, name: str) -> list[str]:
        """Return the files at hand that must list `name`."""
        part = name.partition("/")[0]
        own = [PARTS[part]] if part in PARTS and name != PARTS[part] else []
        return [file for file in (*own, SUMS) if file in self.claims and name != SUMS]

    def _required(self) -> set[str]:
        rows = {f"{part}/{name}" for part in PARTS for name in ROW_FILES[part]}
        old = self.manifests and not any(map(has_sums, self.manifests.values()))
        return rows | set(PARTS.values()) | (set() if old else {SUMS})

    def _manifest(self, part: str) -> Manifest | None:
        name = PARTS[part]
        if name not in self.paths:
            return None
        found = parse_manifest(name, self.paths[name].read_bytes())
        if isinstance(found, Fault):
            self.faults.append(found)
            return None
        if is_known(found):
            for key in unknown_keys(strict_json(self.paths[name].read_bytes()), found):
                self._note(name, Rule.FORMAT, f"has the unknown key {key}")
        return found

    def _note(self, file: str, rule: Rule, problem: str) -> None:
        self.faults.append(Fault(file=file, rule=rule, problem=problem))


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes (hex), read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

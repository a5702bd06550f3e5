"""Where the scripts of this folder keep their records, by the rules that `hocket bench --record` has.

A record takes the place of an older record of Hocket, and of nothing else without `--force`. It is written under another
name in the same folder and renamed when it is complete. A record in `docs/results` is made from a clean tree. Whether its
program was built from that tree, only programs in Rust can tell.
"""

import fcntl
import json
import os
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = "docs/results"


def add_options(parser, what):
    """The options `--record` and `--force`; `what` a record holds."""
    parser.add_argument("--record", type=Path, metavar="FILE", help=f"writes {what} as JSON")
    parser.add_argument("--force", action="store_true", help="replaces a file that is no record")


def check(parser, options):
    """Ends the program with exit code 2 if there is no place for the record. Call it before anything is measured."""
    why = options.record and refusal(options.record, options.force)
    if why:
        parser.error(f"--record {options.record}: {why}")


def refusal(path, force):
    """Why a record cannot be written there, or None. Nothing there is changed."""
    if path.is_dir():
        return "it is a folder; name a file in it"
    if path.is_file() and not force and not is_record(path):
        return ("there is a file that is no record, and nothing was changed; name another file, or replace it with "
                "--force")
    if is_stream(path):
        return None
    why = unpublishable(path, ROOT)
    if why:
        return why
    try:
        # It has no name, so nothing is left of it.
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            return None
    except OSError as error:
        return f"{error.strerror}; choose a folder that exists and can be written to"


def unpublishable(path, root):
    """Why a record may not lie among the published ones of the tree `root`, or None."""
    if not path.resolve().is_relative_to(root.resolve() / PUBLISHED):
        return None
    asked = ["git", "-C", str(root), "status", "--porcelain", "--", ".", f":!{PUBLISHED}"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False)
    if said.returncode:
        return f"git cannot be asked for changes: {said.stderr.strip()}"
    changes = said.stdout.splitlines()
    if not changes:
        return None
    return f"records in {PUBLISHED} are made from a clean tree: '{changes[0].strip()}' is not committed; commit it first"


def is_record(path):
    """An empty file, or JSON that calls itself a record of Hocket. The state of a plug-in is no record."""
    try:
        text = path.read_text(encoding="utf-8")
        name = json.loads(text).get("format", "") if text else "hocket-"
    except (OSError, ValueError, AttributeError):
        return False
    return isinstance(name, str) and name.startswith("hocket-") and "-state/" not in name


def is_stream(path):
    """A pipe or a device: it takes what it gets."""
    return path.exists() and not path.is_file() and not path.is_dir()


def made_from(root):
    """The commit of the tree `root`, and whether it has changes outside the published records; None without git."""
    def asked(*words):
        said = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
        return None if said.returncode else said.stdout.strip()
    try:
        commit, changes = asked("rev-parse", "HEAD"), asked("status", "--porcelain", "--", ".", f":!{PUBLISHED}")
    except OSError:
        return None
    return None if commit is None or changes is None else {"commit": commit, "changes": bool(changes)}


def write(path, record):
    """Writes a record, all of it or nothing, with the tree that its script is of."""
    text = json.dumps({**record, "tree": made_from(ROOT)}) + "\n"
    if is_stream(path):
        path.write_text(text, encoding="utf-8")
        return
    target = path.resolve()
    part = target.with_name(f".{target.name}.{os.getpid()}-0.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            # As Hocket does with its own: a part without a lock belongs to nobody.
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise

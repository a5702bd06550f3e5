"""The places of records: python3 -m unittest discover -s comparison -p test_records.py"""

import argparse
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import records

HERE = Path(__file__).resolve().parent
# What each script needs besides; all are refused before they look for a program.
SCRIPTS = {"voices/voices": [], "versions/versions": ["HEAD"], "reads/reads": ["/"], "references/references": ["/"],
           "render/render": [], "live/live": [], "live/clients": []}


class Places(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def test_a_record_replaces_a_record_and_nothing_else(self):
        records.write(self.folder / "record.json", {"format": "hocket-voices/1", "steps": []})
        self.file("empty.json", "")
        for name in ("record.json", "empty.json", "new.json"):
            self.assertIsNone(records.refusal(self.folder / name, False), name)
        for name, text in (("song.json", '{"format": "mine"}'), ("list.json", "[1]"), ("notes.txt", "notes"),
                           ("number.json", '{"format": 1}'), ("state", '{"format": "hocket-lv2-state/1"}')):
            path = self.file(name, text)
            self.assertIn("--force", records.refusal(path, False), name)
            self.assertIsNone(records.refusal(path, True))
            self.assertEqual(path.read_text(encoding="utf-8"), text)
        self.assertIn("choose a folder", records.refusal(self.folder / "none" / "r.json", True))
        self.assertIn("name a file", records.refusal(self.folder, True))
        self.assertIsNone(records.refusal(Path("/dev/null"), False))
        self.assertEqual(len(os.listdir(self.folder)), 7)

    def test_a_record_is_written_whole_or_not_at_all(self):
        path = self.file("record.json", "old")
        link = self.folder / "link.json"
        link.symlink_to(path)
        records.write(link, {"format": "hocket-voices/1"})
        written = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual(written.pop("tree"), records.made_from(records.ROOT))
        self.assertEqual(written, {"format": "hocket-voices/1"})
        self.assertTrue(link.is_symlink())
        with self.assertRaises(TypeError):
            records.write(path, {"format": object()})
        self.assertEqual(sorted(os.listdir(self.folder)), ["link.json", "record.json"])
        records.write(Path("/dev/null"), {})
        self.assertTrue(Path("/dev/null").is_char_device())

    @unittest.skipUnless(shutil.which("git"), "there is no git")
    def test_a_published_record_is_made_from_a_clean_tree(self):
        published = self.folder / "docs" / "results" / "record.json"
        published.parent.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", self.folder], check=True)
        self.assertIsNone(records.unpublishable(published, self.folder))
        published.write_text("{}", encoding="utf-8")
        self.assertIsNone(records.unpublishable(published, self.folder), "records are made one after the other")
        source = self.file("source.py", "changed")
        self.assertIn("'?? source.py' is not committed", records.unpublishable(published, self.folder))
        self.assertIsNone(records.unpublishable(source, self.folder))

    @unittest.skipUnless(shutil.which("git"), "there is no git")
    def test_a_record_names_the_tree_that_it_is_made_from(self):
        self.assertIsNone(records.made_from(self.folder))
        def git(*words):
            named = ["-c", "user.name=a", "-c", "user.email=a@b"]
            subprocess.run(["git", "-C", self.folder, *named, *words], check=True, capture_output=True)
        git("init", "-q")
        self.file("source.py", "one")
        git("add", "-A")
        git("commit", "-qm", "one")
        made = records.made_from(self.folder)
        self.assertEqual((len(made["commit"]), made["changes"]), (40, False))
        self.file("source.py", "two")
        self.assertEqual(records.made_from(self.folder), {**made, "changes": True})

    def test_every_script_refuses_a_file_that_is_no_record(self):
        notes = self.file("notes.txt", "notes")
        for name, arguments in SCRIPTS.items():
            script = [sys.executable, "-B", HERE / f"{name}.py", *arguments, "--record", notes]
            said = subprocess.run(script, capture_output=True, text=True, check=False)
            self.assertEqual(said.returncode, 2, said.stderr)
            for word in ("notes.txt", "nothing was changed", "--force"):
                self.assertIn(word, said.stderr, name)
            self.assertEqual(notes.read_text(encoding="utf-8"), "notes")

    def test_without_a_record_nothing_is_checked(self):
        parser = argparse.ArgumentParser()
        records.add_options(parser, "all")
        records.check(parser, parser.parse_args([]))
        wrong = parser.parse_args(["--record", str(self.folder)])
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            records.check(parser, wrong)


if __name__ == "__main__":
    unittest.main()

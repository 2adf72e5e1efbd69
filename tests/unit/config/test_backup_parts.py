"""Streams, encryption, archives of files, manifests and errors of tools."""

import io
import json
import tarfile
import tracemalloc
from hashlib import sha256
from typing import Any

import pytest
from django.db import connections

from config.backups.encryption import (
    create_key,
    decrypt,
    encrypt,
    read_identities,
    read_recipients,
)
from config.backups.errors import BackupError
from config.backups.files import empty_folder, read_tar, write_tar
from config.backups.keys import find_needed_keys
from config.backups.manifest import (
    Contents,
    Manifest,
    Part,
    read_manifest,
    write_manifest,
)
from config.backups.streams import Counted, hash_file, read_while_writing
from config.backups.tools import explain, find_tool, service_file

PLAIN = b"three pages of notes " * 10_000


@pytest.fixture
def key(tmp_path):
    """(file of the secret key, public key)."""
    path = tmp_path / "key.txt"
    return path, create_key(path)


def encrypted(public: str) -> bytes:
    out = io.BytesIO()
    encrypt(Counted(io.BytesIO(PLAIN)), Counted(out), read_recipients([public]))
    return out.getvalue()


def decrypted(data: bytes, path) -> bytes:
    out = io.BytesIO()
    decrypt(Counted(io.BytesIO(data)), Counted(out), read_identities(path))
    return out.getvalue()


def test_only_the_secret_key_opens_what_was_encrypted(key, tmp_path):
    path, public = key
    data = encrypted(public)
    assert b"notes" not in data
    assert decrypted(data, path) == PLAIN
    create_key(tmp_path / "other.txt")
    with pytest.raises(BackupError, match="encrypted to another key"):
        decrypted(data, tmp_path / "other.txt")
    with pytest.raises(BackupError, match="Add --identity"):
        decrypt(Counted(io.BytesIO(data)), Counted(io.BytesIO()), [])


@pytest.mark.parametrize("place", [10, 5_000, -1])
def test_a_changed_byte_is_noticed(key, place):
    path, public = key
    data = bytearray(encrypted(public))
    data[place] ^= 1
    with pytest.raises(BackupError):
        decrypted(bytes(data), path)


def test_a_shortened_file_is_noticed(key):
    path, public = key
    with pytest.raises(BackupError, match="damaged"):
        decrypted(encrypted(public)[:-40], path)


def test_a_key_is_never_overwritten_and_only_its_owner_reads_it(key):
    path, public = key
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text().startswith(f"# public key: {public}\nAGE-SECRET-KEY-1")
    with pytest.raises(BackupError, match="Choose a new file"):
        create_key(path)


def test_malformed_keys_are_refused_without_repeating_them(tmp_path):
    with pytest.raises(BackupError, match="begins with age1"):
        read_recipients(["age1nonsense"])
    path = tmp_path / "key"
    path.write_text("AGE-SECRET-KEY-1NONSENSE")
    with pytest.raises(BackupError) as caught:
        read_identities(path)
    assert "NONSENSE" not in str(caught.value)
    with pytest.raises(BackupError, match="cannot be read"):
        read_identities(tmp_path / "none")


def test_an_error_of_the_disk_is_raised_as_it_was(key):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        encrypt(Counted(io.BytesIO(PLAIN)), Counted(Full()), read_recipients([key[1]]))


def test_encryption_needs_bounded_memory(key):
    class Endless(io.RawIOBase):
        left = 30_000_000

        def read(self, size=-1):
            size = min(size, self.left)
            self.left -= size
            return b"x" * size

    class Nowhere(io.RawIOBase):
        def write(self, data):
            return len(data)

    tracemalloc.start()
    try:
        source, target = Counted(Endless()), Counted(Nowhere())
        encrypt(source, target, read_recipients([key[1]]))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert source.bytes == 30_000_000 < target.bytes
    assert most < 3_000_000


def test_streams_count_and_hash(tmp_path):
    source = Counted(io.BytesIO(PLAIN))
    assert source.read(5) == b"three"
    assert (source.bytes, source.sha256) == (5, sha256(b"three").hexdigest())
    (tmp_path / "file").write_bytes(PLAIN)
    assert hash_file(tmp_path / "file") == (len(PLAIN), sha256(PLAIN).hexdigest())


def test_the_error_of_the_writer_wins_over_that_of_its_reader():
    def write(out):
        out.write(b"half")
        raise BackupError("the source broke")

    def read():
        with read_while_writing(write) as stream:
            assert stream.read() == b"half"
            raise ValueError("ended too early")

    with pytest.raises(BackupError, match="the source broke"):
        read()


def test_a_reader_that_stops_ends_the_writer():
    def write(out):
        while True:
            out.write(PLAIN)

    def read():
        with read_while_writing(write) as stream:
            stream.read(10)
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        read()


def test_files_come_back_with_their_content(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "uploads" / "a").mkdir(parents=True)
    (source / "uploads" / "a" / "notes.csv").write_bytes(PLAIN)
    (source / "empty").touch()
    (source / "link").symlink_to("/etc/passwd")
    out = io.BytesIO()
    assert write_tar(source, out) == 2
    out.seek(0)
    assert read_tar(out) == 2
    out.seek(0)
    target.mkdir()
    assert read_tar(out, target) == 2
    found = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert found == {"uploads/a/notes.csv", "empty"}
    assert (target / "uploads" / "a" / "notes.csv").read_bytes() == PLAIN
    empty_folder(target)
    assert list(target.iterdir()) == []


def test_no_files_make_an_empty_archive(tmp_path):
    out = io.BytesIO()
    assert write_tar(tmp_path / "none", out) == 0
    out.seek(0)
    assert read_tar(out) == 0


def test_an_entry_outside_the_folder_and_damage_are_refused(tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w|") as tar:
        tar.addfile(tarfile.TarInfo("../outside"))
    out.seek(0)
    (tmp_path / "inner").mkdir()
    with pytest.raises(BackupError, match="damaged"):
        read_tar(out, tmp_path / "inner")
    assert not (tmp_path / "outside").exists()
    with pytest.raises(BackupError, match="damaged"):
        read_tar(io.BytesIO(b"no archive" * 100))


def build_manifest(**changes: Any) -> Manifest:
    contents = Contents({"ehr_note": 2}, ["ehr.0001_schema"], "3:ab", {"k7": "1:cd"}, 18)
    part = Part("database.dump.age", 20, "ef", 10, "01")
    values: dict[str, Any] = {
        "name": "occurrent-20261127T020000Z",
        "made_at": "2026-11-27T02:00:00+00:00",
        "version": "version 1",
        "contents": contents,
        "files": 0,
        "parts": [part],
        "recipients": ["age1"],
        "keys": {"SECRET_KEY": "signs"},
    }
    return Manifest(**values | changes)


def test_a_manifest_is_read_as_written_and_its_signature_covers_every_field(tmp_path, settings):
    manifest = build_manifest().sign()
    write_manifest(tmp_path, manifest)
    found = read_manifest(tmp_path)
    assert found == manifest
    assert found.is_signed_by_us()
    assert found.find_part("database.dump").bytes == found.bytes == 20
    with pytest.raises(BackupError, match=r"no part files\.tar"):
        found.find_part("files.tar")
    signed = {"signature": manifest.signature}
    for field, other in {"files": 1, "recipients": [], "keys": {}, "version": "2"}.items():
        assert not build_manifest(**signed, **{field: other}).is_signed_by_us(), field
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key of thirty-two characters"
    assert found.is_signed_by_us()
    settings.SECRET_KEY_FALLBACKS = []
    assert not found.is_signed_by_us()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "Give the folder of one backup"),
        ("{", "damaged"),
        ("[]", "another format"),
        ('{"format": 2}', "another format"),
        ('{"format": 1}', "damaged"),
        ('{"format": 1, "parts": [1]}', "damaged"),
    ],
)
def test_a_damaged_manifest_is_named(tmp_path, text, words):
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(BackupError, match=words):
        read_manifest(tmp_path)


def test_a_part_in_another_folder_is_refused(tmp_path):
    write_manifest(tmp_path, build_manifest())
    path = tmp_path / "manifest.json"
    values = json.loads(path.read_text())
    values["parts"][0]["name"] = "../database.dump"
    path.write_text(json.dumps(values))
    with pytest.raises(BackupError, match="damaged"):
        read_manifest(tmp_path)


def test_errors_of_tools_quote_no_value():
    output = (
        "pg_restore: creating TABLE\n"
        'pg_restore: error: COPY failed for table "ehr_note": ERROR:  bad "Mrs Jones, 84\n'
        'CONTEXT:  COPY ehr_note, line 1: "Mrs Jones"\n'
    )
    assert explain(output) == "COPY failed for table …: ERROR:  bad …"
    assert explain("") == "it said nothing"


def test_a_missing_tool_says_what_to_install(tmp_path):
    with pytest.raises(BackupError, match="client programs"):
        find_tool("pg_dump", tmp_path)


def test_tools_get_the_address_in_a_file_that_only_we_read(monkeypatch):
    address = {"NAME": "occurrent", "USER": "owner", "PASSWORD": "a b#c", "HOST": "db", "PORT": ""}
    options = {"sslmode": "require", "pool": {"max_size": 2}}
    monkeypatch.setattr(connections["default"], "settings_dict", address | {"OPTIONS": options})
    with service_file() as path:
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.read_text().splitlines() == [
            "[occurrent_backup]",
            "dbname=occurrent",
            "user=owner",
            "password=a b#c",
            "host=db",
            "sslmode=require",
        ]
    assert not path.exists()


def test_secrets_are_named_without_their_values(settings, monkeypatch):
    monkeypatch.setenv("EMAIL_HOST_PASSWORD", "hunter2")
    settings.MODEL_ENDPOINTS = {"glm": {"api_key_env": "VLLM_KEY"}, "local": {}}
    found = find_needed_keys()
    assert {"SECRET_KEY", "EMAIL_HOST_PASSWORD", "VLLM_KEY"} <= set(found)
    assert "hunter2" not in str(found)

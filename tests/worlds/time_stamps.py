"""A small time-stamping authority (RFC 3161): certificates, and a server.

`openssl ts` signs its answers, so that another implementation than ours makes them.
"""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NEEDS_OPENSSL = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl signs the time stamps of the tests"
)
CONFIGURATION = """
[tsa]
default_tsa = authority
[authority]
serial = {folder}/serial
crypto_device = builtin
signer_cert = {folder}/signer.pem
signer_key = {folder}/signer.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
"""


def make_authority(folder: Path) -> Path:
    """Write an authority's files to `folder`; return its root certificate."""
    folder.mkdir(parents=True, exist_ok=True)
    root_key, signer_key = ec.generate_private_key(ec.SECP256R1()), _key(folder / "signer.key")
    root = (
        _certificate("Root", "Root", root_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(root_key, hashes.SHA256())
    )
    stamping = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])
    signer = (
        _certificate("Stamps", "Root", signer_key)
        .add_extension(stamping, critical=True)
        .sign(root_key, hashes.SHA256())
    )
    (folder / "root.pem").write_bytes(root.public_bytes(Encoding.PEM))
    (folder / "signer.pem").write_bytes(signer.public_bytes(Encoding.PEM))
    (folder / "ts.cnf").write_text(CONFIGURATION.format(folder=folder))
    return folder / "root.pem"


@contextmanager
def serve_time_stamps(folder: Path) -> Iterator[str]:
    """Serve the authority in `folder`; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["Content-Type"] == "application/timestamp-query"
            query = self.rfile.read(int(self.headers["Content-Length"]))
            answer = sign_query(folder, query)
            self.send_response(200)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None:
            """Print nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/tsr"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def sign_query(folder: Path, query: bytes) -> bytes:
    """Return the authority's answer to a request."""
    (folder / "query.tsq").write_bytes(query)
    command = ["openssl", "ts", "-reply", "-config", "ts.cnf", "-queryfile", "query.tsq"]
    return subprocess.run(
        [*command, "-out", "/dev/stdout"], cwd=folder, check=True, capture_output=True
    ).stdout


def _key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = ec.generate_private_key(ec.SECP256R1())
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return key


def _certificate(
    name: str, issuer: str, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=30))
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])

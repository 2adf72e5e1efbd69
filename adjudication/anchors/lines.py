"""One line of the anchor file: heads of the chains at a time, signed.

No Django. A line has the SHA-256 of the line before it, so that none can be changed, removed or added between
others. The canonical form is that of `adjudication.chain`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import Field

from adjudication.chain import encode_canonical
from llm_runtime.schema import Strict

#: A place in a chain and the hash there; (0, "") of an empty chain.
Head = tuple[Annotated[int, Field(ge=0)], Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]]
Hex64 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Anchor(Strict):
    """The heads of the audit trail and of packets at a time."""

    #: The number of the line, from 1.
    sequence: Annotated[int, Field(ge=1)]
    at: str
    trail: Head
    #: Packets by public id whose head differs from the one last noted.
    packets: dict[str, Head]
    #: Why earlier lines may name links that are gone: the database was restored.
    restored: str
    #: SHA-256 of the line before; "" of the first line.
    previous: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
    #: The public key (Ed25519) and its signature over all fields above.
    key: Hex64
    signature: Annotated[str, Field(pattern=r"^([0-9a-f]{128})?$")] = ""
    #: Answer of a time-stamping authority over all fields above, DER in base64; "" without one.
    stamp: str = ""

    def signed_bytes(self) -> bytes:
        """Return what the signature covers."""
        return encode_canonical(self.model_dump(mode="json", exclude={"signature", "stamp"}))

    def stamped_bytes(self) -> bytes:
        """Return what the time stamp covers: the signature, too."""
        return encode_canonical(self.model_dump(mode="json", exclude={"stamp"}))

    def as_line(self) -> bytes:
        """Return the line without its line feed."""
        return encode_canonical(self.model_dump(mode="json"))

    def sign(self, key: Ed25519PrivateKey) -> Self:
        """Return the anchor with the signature of this key, which `key` must name."""
        return self.model_copy(update={"signature": key.sign(self.signed_bytes()).hex()})

    def is_signed(self) -> bool:
        """Return True if the signature is that of the key that the line names."""
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.key))
        try:
            public.verify(bytes.fromhex(self.signature), self.signed_bytes())
        except InvalidSignature:
            return False
        return True


def line_digest(line: bytes) -> str:
    """Return the SHA-256 of a line without its line feed."""
    return hashlib.sha256(line).hexdigest()


def find_changed(heads: Mapping[str, Head], noted: Mapping[str, Head]) -> dict[str, Head]:
    """Return the heads that differ from those last noted."""
    return {name: head for name, head in heads.items() if noted.get(name) != head}

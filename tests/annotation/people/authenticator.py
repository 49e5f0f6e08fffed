"""A passkey of our own, as a browser hands it over: for tests without a browser."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import (
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

FLAGS = AuthenticatorData.FLAG.UP | AuthenticatorData.FLAG.UV
NO_MAKER = b"\0" * 16


@dataclass
class Passkey:
    """Made for one site; ``owner`` is told to the site where it is used without a name."""

    host: str = "localhost"
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    owner: bytes = b""

    def made(self, options: dict[str, Any], origin: str = "http://localhost") -> dict[str, Any]:
        """What navigator.credentials.create gives for these options of a page."""
        asked = options["creation_options"]["publicKey"]
        self.owner = asked["user"]["id"].encode()
        client = self._client("webauthn.create", asked["challenge"], origin)
        public = ES256.from_cryptography_key(self.key.public_key())  # type: ignore[no-untyped-call]
        credential = AttestedCredentialData.create(NO_MAKER, self.credential_id, public)
        data = AuthenticatorData.create(self._site(), FLAGS | AuthenticatorData.FLAG.AT, 0, bytes(credential))
        told = {"clientDataJSON": websafe_encode(client), "transports": ["internal"]}
        told["attestationObject"] = websafe_encode(AttestationObject.create("none", data, {}))
        return self._credential(told)

    def proven(self, options: dict[str, Any], origin: str = "http://localhost") -> dict[str, Any]:
        """What navigator.credentials.get gives."""
        client = self._client("webauthn.get", options["request_options"]["publicKey"]["challenge"], origin)
        data = AuthenticatorData.create(self._site(), FLAGS, 0)
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(SHA256()))
        told = {"clientDataJSON": websafe_encode(client), "authenticatorData": websafe_encode(data)}
        told |= {"signature": websafe_encode(signature), "userHandle": self.owner.decode()}
        return self._credential(told)

    def _client(self, kind: str, challenge: str, origin: str) -> bytes:
        return bytes(CollectedClientData.create(type=kind, challenge=challenge, origin=origin))

    def _site(self) -> bytes:
        return hashlib.sha256(self.host.encode()).digest()

    def _credential(self, response: dict[str, Any]) -> dict[str, Any]:
        name = websafe_encode(self.credential_id)
        extensions = {"credProps": {"rk": True}}
        told = {"type": "public-key", "id": name, "rawId": name, "response": response}
        copied: dict[str, Any] = json.loads(json.dumps({**told, "clientExtensionResults": extensions}))
        return copied

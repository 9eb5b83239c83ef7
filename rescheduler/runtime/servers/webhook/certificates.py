"""The webhook's own certificate: an authority of its own, and what that signs."""

import ssl
import tempfile
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LASTS = timedelta(days=3650)
LASTS = timedelta(days=90)
RENEWED = timedelta(days=30)
"""So long before its end a certificate is created again."""
_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, as PEM."""

    certificate: bytes
    key: bytes

    @property
    def ends(self) -> datetime:
        """When it is valid no more.

        Raises:
            ValueError: it is no certificate.
        """
        return x509.load_pem_x509_certificate(self.certificate).not_valid_after_utc

    def context(self) -> ssl.SSLContext:
        """TLS 1.2 or later with this certificate.

        Raises:
            ValueError: the two do not belong together, or are none.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # The ssl module reads files only; this one is gone before anybody else could open it.
        with tempfile.TemporaryDirectory() as folder:
            both = Path(folder) / "both.pem"
            both.touch(mode=0o600)
            both.write_bytes(self.certificate + b"\n" + self.key)
            try:
                context.load_cert_chain(both)
            except ssl.SSLError as error:
                raise ValueError(f"the certificate cannot be used: {error.reason}") from error
        return context


def make_authority(now: datetime) -> KeyPair:
    """An authority that nobody else uses."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("rescheduler webhook authority")
    builder = (
        _builder(name, name, key, now, AUTHORITY_LASTS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
    )
    return _pair(builder.sign(key, hashes.SHA256()), key)


def make_certificate(authority: KeyPair, names: list[str], now: datetime) -> KeyPair:
    """A serving certificate for these DNS names, signed by the authority.

    Raises:
        ValueError: the authority is none.
    """
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    signer = load_pem_private_key(authority.key, password=None)
    if not isinstance(signer, ec.EllipticCurvePrivateKey):
        raise ValueError("the authority's key is not one of ours")  # noqa: TRY004 - of its content
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder(_name(names[0]), issuer.subject, key, now, LASTS)
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key()),  # type: ignore[arg-type]
            critical=False,
        )
    )
    return _pair(builder.sign(signer, hashes.SHA256()), key)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    lasts: timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + lasts)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common[:64])])


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    return KeyPair(
        certificate.public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )

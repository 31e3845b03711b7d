/**
 * A certificate authority of our own and certificates from it, so that tests and `npm run dev` speak
 * real TLS that a client can verify, instead of switching verification off.
 */
// @peculiar/x509 resolves its parts through tsyringe, which wants this loaded first.
import "reflect-metadata";
import { randomBytes, webcrypto, X509Certificate } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import * as x509 from "@peculiar/x509";

/** Both as PEM: what a server shows, and the key it keeps. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

export type Authority = Identity;

export interface LocalIdentity extends Identity {
  /** The authority's certificate, for `curl --cacert` and `NODE_EXTRA_CA_CERTS`. */
  readonly ca: string;
  readonly ca_path: string;
}

const day_ms = 86_400_000;
const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
export const loopbackNames = ["localhost", "127.0.0.1", "::1"] as const;

export async function createAuthority(name = "Stead local authority"): Promise<Authority> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: newSerial(),
      // A random part: browsers confuse authorities that share a name but not a key.
      name: [{ CN: [`${name} ${randomBytes(4).toString("hex")}`] }],
      ...validFor(3650),
      signingAlgorithm: algorithm,
      keys,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return { cert: certificate.toString("pem"), key: await toPem(keys.privateKey) };
}

/** A server certificate for host names and addresses. Clients refuse one that lives longer than 398 days. */
export async function issue(authority: Authority, names: readonly string[] = loopbackNames, days = 397): Promise<Identity> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const issuer = new x509.X509Certificate(authority.cert);
  const certificate = await x509.X509CertificateGenerator.create(
    {
      serialNumber: newSerial(),
      subject: [{ CN: [names[0] as string] }],
      issuer: issuer.subject,
      ...validFor(days),
      signingAlgorithm: algorithm,
      publicKey: keys.publicKey,
      signingKey: await fromPem(authority.key),
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: isIP(value) ? "ip" : "dns", value }))),
        await x509.AuthorityKeyIdentifierExtension.create(issuer, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return { cert: certificate.toString("pem"), key: await toPem(keys.privateKey) };
}

/** The authority and loopback certificate kept in `dir`. The authority stays the same, so that who trusts it once need not do so again. */
export async function loadOrCreate(dir: string): Promise<LocalIdentity> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const authority = await keep(dir, "authority", 365, () => createAuthority());
  const server = await keep(dir, "localhost", 30, () => issue(authority), authority);
  return { ...server, ca: authority.cert, ca_path: join(dir, "authority.pem") };
}

/** What lies in `dir` under that name, made anew when it is missing, about to expire or signed by another. */
async function keep(dir: string, name: string, daysLeft: number, make: () => Promise<Identity>, signedBy?: Authority): Promise<Identity> {
  const paths = { cert: join(dir, `${name}.pem`), key: join(dir, `${name}-key.pem`) };
  const kept = await readBoth(paths);
  if (kept) {
    const certificate = new X509Certificate(kept.cert);
    const lasts = Date.parse(certificate.validTo) > Date.now() + daysLeft * day_ms;
    if (lasts && (!signedBy || certificate.verify(new X509Certificate(signedBy.cert).publicKey))) return kept;
  }
  const made = await make();
  await writeFile(paths.key, made.key, { mode: 0o600 });
  await writeFile(paths.cert, made.cert, { mode: 0o600 });
  return made;
}

async function readBoth(paths: { cert: string; key: string }): Promise<Identity | null> {
  try {
    return { cert: await readFile(paths.cert, "utf8"), key: await readFile(paths.key, "utf8") };
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return null;
    throw error;
  }
}

/** From a minute ago, for clocks that are not quite the same. */
function validFor(days: number): { notBefore: Date; notAfter: Date } {
  const from = Date.now() - 60_000;
  return { notBefore: new Date(from), notAfter: new Date(from + days * day_ms) };
}

/** Positive as the standard wants it: the first bit is zero. */
function newSerial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] as number) & 0x7f) | 0x40;
  return bytes.toString("hex");
}

const toPem = async (key: webcrypto.CryptoKey): Promise<string> =>
  x509.PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", key), x509.PemConverter.PrivateKeyTag);

const fromPem = (pem: string): Promise<webcrypto.CryptoKey> =>
  webcrypto.subtle.importKey("pkcs8", x509.PemConverter.decodeFirst(pem), algorithm, false, ["sign"]);

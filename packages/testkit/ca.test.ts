import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { createServer, request } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createAuthority, issue, loadOrCreate, loopbackNames } from "./ca.ts";

const greet = async (port: number, host: string, ca: string): Promise<string> => {
  const call = request({ port, host, ca, path: "/" }).end();
  const [reply] = await once(call, "response");
  return (await reply.toArray()).join("");
};

test("a client that trusts the authority accepts the certificate for every loopback name, and another client does not", async () => {
  const authority = await createAuthority();
  const server = createServer(await issue(authority), (_, reply) => reply.end("hello")).listen(0);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  for (const host of loopbackNames) expect(await greet(port, host, authority.cert)).toBe("hello");
  await expect(greet(port, "localhost", (await createAuthority()).cert)).rejects.toThrow(/certificate|issuer/);
});

test("a certificate is refused for a name it was not issued for", async () => {
  const authority = await createAuthority();
  const server = createServer(await issue(authority, ["panel.example"]), (_, reply) => reply.end("hello")).listen(0);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  await expect(greet((server.address() as AddressInfo).port, "localhost", authority.cert)).rejects.toThrow("does not match");
});

test("the authority may sign servers only, lives ten years and its certificates at most 397 days", async () => {
  const authority = await createAuthority();
  const root = new X509Certificate(authority.cert);
  const leaf = new X509Certificate((await issue(authority)).cert);
  const days = (certificate: X509Certificate) => Math.round((Date.parse(certificate.validTo) - Date.parse(certificate.validFrom)) / 86_400_000);
  expect([root.ca, leaf.ca]).toEqual([true, false]);
  expect([days(root), days(leaf)]).toEqual([3650, 397]);
  expect(leaf.checkIssued(root)).toBe(true);
});

test("in a folder the authority stays, and a lost or foreign server certificate is made anew; nobody else can read the files", async () => {
  const dir = await mkdtemp(join(tmpdir(), "stead-ca-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  const first = await loadOrCreate(dir);
  expect(await loadOrCreate(dir)).toEqual(first);

  await rm(join(dir, "localhost.pem"));
  const second = await loadOrCreate(dir);
  expect([second.ca === first.ca, second.cert === first.cert]).toEqual([true, false]);

  await rm(join(dir, "authority.pem"));
  const third = await loadOrCreate(dir);
  expect(new X509Certificate(third.cert).verify(new X509Certificate(third.ca).publicKey)).toBe(true);

  const modes = await Promise.all((await readdir(dir)).map(async (name) => (await stat(join(dir, name))).mode & 0o777));
  expect(modes).toEqual([0o600, 0o600, 0o600, 0o600]);
});

import type { IncomingMessage } from "node:http";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clientOf, limitKey, peerOf, saidHttps, trusted } from "./address.ts";

const from = (remoteAddress: string | undefined, headers: Record<string, string | string[]> = {}) =>
  ({ socket: { remoteAddress }, headers }) as unknown as IncomingMessage;
const proxies = trusted(["10.0.0.0/8", "192.0.2.1", "2001:db8::/32", "::1"]);

describe("the peer", () => {
  test.each([
    ["198.51.100.7", "198.51.100.7"],
    ["::ffff:198.51.100.7", "198.51.100.7"],
    ["2001:db8::7", "2001:db8::7"],
    ["fe80::1%eth0", "fe80::1"],
    [undefined, "0.0.0.0"],
  ])("%s is %s", (address, peer) => {
    expect(peerOf(from(address))).toBe(peer);
  });
});

describe("the client", () => {
  test.each([
    ["10.1.1.1", "203.0.113.9", "203.0.113.9"],
    ["::ffff:10.1.1.1", "203.0.113.9", "203.0.113.9"],
    ["10.1.1.1", "1.1.1.1, 203.0.113.9, 10.9.9.9, 192.0.2.1", "203.0.113.9"],
    ["10.1.1.1", "1.1.1.1,203.0.113.9", "203.0.113.9"],
    ["10.1.1.1", "2001:db8::1, 2001:db9::1", "2001:db9::1"],
    ["10.1.1.1", "fe80::2%eth1", "fe80::2"],
    ["10.1.1.1", "", "10.1.1.1"],
    ["10.1.1.1", "10.2.2.2, 10.3.3.3", "10.1.1.1"],
    ["10.1.1.1", "203.0.113.9, unknown", "10.1.1.1"],
    ["10.1.1.1", "203.0.113.9:1234", "10.1.1.1"],
    ["198.51.100.7", "203.0.113.9", "198.51.100.7"],
    ["192.0.2.2", "203.0.113.9", "192.0.2.2"],
  ])("of %s with X-Forwarded-For: %s is %s", (peer, hops, client) => {
    expect(clientOf(from(peer, { "x-forwarded-for": hops }), proxies)).toBe(client);
  });

  test("of anybody is the peer where there is no proxy", () => {
    expect(clientOf(from("10.1.1.1", { "x-forwarded-for": "203.0.113.9" }), null)).toBe("10.1.1.1");
  });

  test("what is left of the first foreign address never counts", () => {
    fc.assert(
      fc.property(fc.string(), (made_up) => {
        expect(clientOf(from("10.1.1.1", { "x-forwarded-for": `${made_up}, 203.0.113.9` }), proxies)).toBe("203.0.113.9");
      }),
    );
  });
});

test("HTTPS is what a trusted peer said last, and nothing breaks the question", () => {
  expect(saidHttps(from("10.1.1.1", { "x-forwarded-proto": "https" }), proxies)).toBe(true);
  expect(saidHttps(from("198.51.100.7", { "x-forwarded-proto": "https" }), proxies)).toBe(false);
  expect(saidHttps(from("fe80::1%eth0", { "x-forwarded-proto": "https" }), proxies)).toBe(false);
  expect(saidHttps(from(undefined, { "x-forwarded-proto": "https" }), proxies)).toBe(false);
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(saidHttps(from("10.1.1.1", { "x-forwarded-proto": `${text}, http`, forwarded: text }), proxies)).toBe(false);
    }),
  );
});

describe("what a limit counts by", () => {
  test.each([
    ["203.0.113.9", "203.0.113.9"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::6", "2001:db8:1:2::/64"],
    ["2001:db8::6", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["::", "0:0:0:0::/64"],
    ["2001:db8:1:2:3:4:5::", "2001:db8:1:2::/64"],
    ["1::", "1:0:0:0::/64"],
  ])("%s is %s", (address, key) => {
    expect(limitKey(address)).toBe(key);
  });

  test("two addresses of one /64 are one, of two are two", () => {
    const group = fc.integer({ min: 1, max: 0xffff }).map((n) => n.toString(16));
    fc.assert(
      fc.property(fc.array(group, { minLength: 4, maxLength: 4 }), fc.array(group, { minLength: 4, maxLength: 4 }), (network, host) => {
        expect(limitKey([...network, ...host].join(":"))).toBe(limitKey(`${network.join(":")}::1`));
        expect(limitKey([...network, ...host].join(":"))).not.toBe(limitKey(`${network.slice(0, 3).join(":")}:0:${host.join(":")}`));
      }),
    );
  });
});

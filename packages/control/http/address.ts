/** Who is at the other end, and did they come over HTTPS? Forwarded headers count only from a trusted proxy. */
import type { IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv4 } from "node:net";

export type Trusted = BlockList;

export function trusted(cidrs: readonly string[]): Trusted {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = "", bits] = cidr.split("/");
    const family = isIPv4(address) ? "ipv4" : "ipv6";
    list.addSubnet(address, bits === undefined ? (family === "ipv4" ? 32 : 128) : Number(bits), family);
  }
  return list;
}

/** The address alone: an IPv4 address in its own form, and no zone index, which means something on one machine only. */
function plainly(text: string): string {
  const [address = ""] = text.split("%");
  return address.startsWith("::ffff:") && isIPv4(address.slice(7)) ? address.slice(7) : address;
}

const isTrusted = (list: Trusted, address: string): boolean => isIP(address) !== 0 && list.check(address, isIPv4(address) ? "ipv4" : "ipv6");

export const peerOf = (request: IncomingMessage): string => plainly(request.socket.remoteAddress ?? "0.0.0.0");

/** The right-most address that is not one of our proxies: everything left of it could have been made up by the client. */
export function clientOf(request: IncomingMessage, proxies: Trusted | null): string {
  const peer = peerOf(request);
  if (!proxies || !isTrusted(proxies, peer)) return peer;
  const hops = headerText(request, "x-forwarded-for")
    .split(",")
    .map((hop) => plainly(hop.trim()))
    .filter((hop) => hop !== "");
  for (const hop of hops.reverse()) {
    if (isIP(hop) === 0) return peer;
    if (!isTrusted(proxies, hop)) return hop;
  }
  return peer;
}

/** Behind a proxy a request is HTTPS only if a trusted peer says so; the right-most value is the one it added. */
export function saidHttps(request: IncomingMessage, proxies: Trusted): boolean {
  if (!isTrusted(proxies, peerOf(request))) return false;
  const proto = headerText(request, "x-forwarded-proto").split(",").at(-1)?.trim().toLowerCase();
  if (proto) return proto === "https";
  const forwarded = headerText(request, "forwarded").split(",").at(-1) ?? "";
  return /(?:^|;)\s*proto="?https"?\s*(?:;|$)/i.test(forwarded);
}

function headerText(request: IncomingMessage, name: string): string {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(",") : (value ?? "");
}

/** What a limit counts by: an IPv4 address, or the /64 that one IPv6 customer usually has. */
export function limitKey(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail = ""] = address.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === "" ? [] : tail.split(":");
  const groups = address.includes("::") ? [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0"), ...right] : left;
  return `${groups.slice(0, 4).join(":")}::/64`;
}

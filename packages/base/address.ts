import { isIP } from "node:net";

/** An address, or an address and a number of leading bits, as PostgreSQL's inet takes it. */
export function isAddressRange(text: string): boolean {
  const [address = "", bits, ...more] = text.split("/");
  const family = text.includes("%") || more.length > 0 ? 0 : isIP(address);
  return family !== 0 && (bits === undefined || (/^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)));
}

/**
 * Identifiers: a prefix that says what the thing is, and a UUIDv7 in Crockford base32 (the TypeID layout).
 * Inside the service an id is the plain UUID that PostgreSQL stores; the prefix is put on and taken off
 * at the public edge, where the contract says which kind of id stands in which field.
 */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const shape = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const letterValues = Uint8Array.from({ length: 128 }, (_, code) => Math.max(0, alphabet.indexOf(String.fromCharCode(code))));

/** Two letters for each value of ten bits, and the value of each hexadecimal digit by its code. */
const pairs = Array.from({ length: 1024 }, (_, n) => `${alphabet[n >> 5]}${alphabet[n & 31]}`);
const digitValues = Uint8Array.from({ length: 128 }, (_, code) => Math.max(0, "0123456789abcdef".indexOf(String.fromCharCode(code))));

/** Where the digits of a UUID's text stand after the first two, without its hyphens. */
const digitPlaces = [2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 14, 15, 16, 17, 19, 20, 21, 22, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35];

/**
 * `srv_…` for the UUID of a server. 128 bits are 26 letters of 5 bits with two zero bits in front, so the first two
 * letters carry the first two digits, and every five digits after them four letters. Written out because every row
 * of every list passes here.
 */
export function formatId(prefix: string, uuid: string): string {
  const digit = (place: number) => digitValues[uuid.charCodeAt(place)] as number;
  let text = `${prefix}_${pairs[(digit(0) << 4) | digit(1)]}`;
  for (let at = 0; at < digitPlaces.length; at += 5) {
    let bits = 0;
    for (let n = at; n < at + 5; n++) bits = (bits << 4) | digit(digitPlaces[n] as number);
    text += (pairs[bits >> 10] as string) + (pairs[bits & 1023] as string);
  }
  return text;
}

/** The UUID inside an id, or null when the text is not an id of that kind. */
export function parseId(prefix: string, id: string): string | null {
  if (id.length !== prefix.length + 27 || id[prefix.length] !== "_" || !id.startsWith(prefix)) return null;
  const letters = id.slice(prefix.length + 1);
  if (!shape.test(letters)) return null;
  const value = (at: number) => letterValues[letters.charCodeAt(at)] as number;
  let hex = ((value(0) << 5) | value(1)).toString(16).padStart(2, "0");
  for (let at = 2; at < 26; at += 4) hex += ((value(at) << 15) | (value(at + 1) << 10) | (value(at + 2) << 5) | value(at + 3)).toString(16).padStart(5, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The time inside a UUIDv7: an entry's time is the time of its id, so that either finds the other. */
export const timeOf = (uuid: string): Date => new Date(Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16));

export const isUuid = (text: string): boolean => uuidShape.test(text);

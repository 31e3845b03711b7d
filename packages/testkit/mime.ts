/** Just enough of MIME to read the plain-text mails that we send: headers with encoded words, and one text body. */
export type Headers = Readonly<Record<string, string>>;

/** `raw` has one character for each byte (latin1), as mail is bytes until its charset is known. */
export function decodeMessage(raw: string): { headers: Headers; text: string } {
  const split = /\r?\n\r?\n/.exec(raw);
  const head = split ? raw.slice(0, split.index) : raw;
  const body = split ? raw.slice(split.index + split[0].length) : "";
  const headers: Record<string, string> = {};
  for (const line of head.replace(/\r?\n[ \t]+/g, " ").split(/\r?\n/)) {
    const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) headers[name.toLowerCase()] ??= decodeWords(value);
  }
  const charset = /charset="?([^";\s]+)/i.exec(headers["content-type"] ?? "")?.[1] ?? "utf-8";
  const bytes = decodeBytes(body, (headers["content-transfer-encoding"] ?? "7bit").toLowerCase());
  return { headers, text: new TextDecoder(charset).decode(bytes).replace(/\r\n/g, "\n") };
}

function decodeBytes(body: string, encoding: string): Buffer {
  if (encoding === "base64") return Buffer.from(body, "base64");
  if (encoding === "quoted-printable") return decodeQuoted(body.replace(/[ \t]+(?=\r?\n|$)/g, "").replace(/=\r?\n/g, ""));
  return Buffer.from(body, "latin1");
}

const decodeQuoted = (text: string): Buffer =>
  Buffer.from(
    text.replace(/=([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );

/** `=?utf-8?Q?…?=`; white space between two encoded words is not part of the text, and a character may be cut between them. */
function decodeWords(value: string): string {
  const text = Buffer.from(value, "latin1")
    .toString("utf8")
    .replace(/\?=\s+=\?/g, "?==?");
  return text.replace(/(?:=\?[^?]+\?[QqBb]\?[^?]*\?=)+/g, (words) => {
    const parts = [...words.matchAll(/=\?([^?]+)\?([QqBb])\?([^?]*)\?=/g)];
    const bytes = parts.map(([, , kind, encoded = ""]) =>
      kind === "B" || kind === "b" ? Buffer.from(encoded, "base64") : decodeQuoted(encoded.replaceAll("_", " ")),
    );
    return new TextDecoder(parts[0]?.[1]).decode(Buffer.concat(bytes));
  });
}

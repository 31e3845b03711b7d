/** Answers as a test wants to read them: unpacked, and taken apart where several came over one connection. */
import type { IncomingHttpHeaders } from "node:http";
import { brotliDecompressSync, gunzipSync } from "node:zlib";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Decompressed. */
  readonly text: string;
}

export const readable = ({ status, headers, bytes }: { status: number; headers: IncomingHttpHeaders; bytes: Buffer }): Answer => ({
  status,
  headers,
  text: unpack(bytes, headers["content-encoding"]),
});

function unpack(bytes: Buffer, coding: string | undefined): string {
  if (coding === undefined || bytes.length === 0) return bytes.toString();
  return (coding === "br" ? brotliDecompressSync(bytes) : gunzipSync(bytes)).toString();
}

/** All answers in what a connection said, in order: enough of HTTP/1.1 to read our own. */
export function answersIn(said: string): Answer[] {
  const answers: Answer[] = [];
  let rest = said;
  while (rest.length > 0) {
    const end = rest.indexOf("\r\n\r\n");
    const [first = "", ...lines] = rest.slice(0, end).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]);
    if (end < 0 || Number.isNaN(status)) throw new Error(`not an answer: ${rest.slice(0, 200)}`);
    const headers: IncomingHttpHeaders = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
    );
    const after = rest.slice(end + 4);
    const length = Number(headers["content-length"] ?? 0);
    const { body, left } = headers["transfer-encoding"] === "chunked" ? joinChunks(after) : { body: after.slice(0, length), left: after.slice(length) };
    if (status >= 200) answers.push(readable({ status, headers, bytes: Buffer.from(body, "latin1") }));
    rest = left;
  }
  return answers;
}

function joinChunks(said: string): { body: string; left: string } {
  let body = "";
  for (let at = 0; ; ) {
    const line = said.indexOf("\r\n", at);
    const size = Number.parseInt(said.slice(at, line), 16);
    if (!(size > 0)) return { body, left: said.slice(line + 4) };
    body += said.slice(line + 2, line + 2 + size);
    at = line + 2 + size + 2;
  }
}

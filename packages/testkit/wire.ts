/**
 * Requests as bytes on a wire. The SDK sends only what is right; tests of the edge also send what is wrong, doubled,
 * broken or forbidden to browsers, and look at every header of the answer.
 */
import { once } from "node:events";
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request as plain } from "node:http";
import { request as secure } from "node:https";
import { connect } from "node:net";

export interface Ask {
  readonly method?: string;
  /** A header that is given as a list is sent that often. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** An object goes as JSON; text and bytes go as they are, with no type of their own. */
  readonly body?: unknown;
  /** Goes as `Authorization: Bearer`. */
  readonly key?: string;
  /** The authority that signed the server's certificate. */
  readonly ca?: string;
  /** The address to come from, of those of this machine. */
  readonly from?: string;
}

export interface Told {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  readonly json: unknown;
}

const agent = new Agent({ keepAlive: true });

/** `path` goes as it is: nothing is normalised on the way. */
export async function ask(base_url: string, path: string, { method = "GET", headers = {}, body, key, ca, from }: Ask = {}): Promise<Told> {
  const { protocol, hostname, port } = new URL(base_url);
  const bytes = typeof body === "string" || Buffer.isBuffer(body) ? body : body === undefined ? null : JSON.stringify(body);
  const typed = bytes !== null && bytes !== body ? { "content-type": "application/json" } : {};
  const sized = bytes !== null && headers["transfer-encoding"] === undefined ? { "content-length": String(Buffer.byteLength(bytes)) } : {};
  const all = { ...typed, ...sized, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...headers };
  const options = { hostname, port, path, method, headers: all as Record<string, string | string[]>, ...(from ? { localAddress: from } : {}) };
  const request = protocol === "https:" ? secure({ ...options, agent: false, ...(ca ? { ca } : {}) }) : plain({ ...options, agent: from ? false : agent });
  request.end(bytes);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const received = Buffer.concat(chunks);
  const text = received.toString("utf8");
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    bytes: received,
    text,
    get json() {
      return JSON.parse(text) as unknown;
    },
  };
}

/** Says exactly this to the listener, and gives back all that it says until it hangs up. */
export async function speak(base_url: string, words: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(base_url);
  const socket = connect({ host: hostname, port: Number(port) });
  const heard: Buffer[] = [];
  socket.on("data", (chunk) => heard.push(chunk));
  // A listener that hangs up on what it does not want to hear is one of the things to look for.
  socket.on("error", () => {});
  socket.write(words);
  await once(socket, "close");
  return Buffer.concat(heard).toString("latin1");
}

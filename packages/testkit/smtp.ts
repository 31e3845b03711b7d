/**
 * A real SMTP server on loopback that keeps what it is sent, so that tests read the mail a person
 * would have got. It can refuse the first messages the way a busy server does, to show retries.
 */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from "smtp-server";
import { decodeMessage, type Headers } from "./mime.ts";

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
  /** By lower-case name; the first of each. */
  readonly headers: Headers;
  readonly subject: string;
  readonly message_id: string;
  /** The plain-text body, decoded, lines ended by `\n`. */
  readonly text: string;
}

export interface SmtpOptions {
  /** How many messages are refused with 451 before the first is taken. */
  readonly refuse_first?: number;
  /** How many messages are read and never answered, as by a server that hangs. */
  readonly hold_first?: number;
  readonly on_mail?: (mail: ReceivedMail) => void;
}

export interface SmtpServer {
  readonly url: string;
  readonly messages: readonly ReceivedMail[];
  /** How many messages were refused so far. */
  readonly refused: number;
  /** The messages that were read and got no answer. */
  readonly held: readonly ReceivedMail[];
  /** The first message that fits, whether it is here already or comes in time. */
  waitFor(fits: (mail: ReceivedMail) => boolean, timeout_ms?: number): Promise<ReceivedMail>;
  stop(): Promise<void>;
}

export async function startSmtp(options: SmtpOptions = {}): Promise<SmtpServer> {
  const messages: ReceivedMail[] = [];
  const arrivals = new EventTarget();
  const held: ReceivedMail[] = [];
  let refused = 0;

  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    disableReverseLookup: true,
    onData(stream, session, done) {
      receive(stream, session).then((mail) => {
        if (held.length < (options.hold_first ?? 0)) return void held.push(mail);
        if (refused < (options.refuse_first ?? 0)) {
          refused++;
          done(Object.assign(new Error("Try again later"), { responseCode: 451 }));
          return;
        }
        messages.push(mail);
        options.on_mail?.(mail);
        done();
        arrivals.dispatchEvent(new Event("mail"));
      }, done);
    },
  });
  // A client that hangs up is the client's affair.
  server.on("error", () => {});
  const listener = server.listen(0, "127.0.0.1");
  await once(listener, "listening");

  return {
    url: `smtp://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    messages,
    held,
    get refused() {
      return refused;
    },
    waitFor: (fits, timeout_ms = 5000) => waitFor(messages, arrivals, fits, timeout_ms),
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

async function receive(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<ReceivedMail> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  const raw = Buffer.concat(chunks).toString("latin1");
  const { headers, text } = decodeMessage(raw);
  const { mailFrom, rcptTo } = session.envelope;
  return {
    from: mailFrom ? mailFrom.address : "",
    to: rcptTo.map((recipient) => recipient.address),
    raw: Buffer.from(raw, "latin1").toString("utf8"),
    headers,
    subject: headers.subject ?? "",
    message_id: headers["message-id"] ?? "",
    text,
  };
}

function waitFor(messages: readonly ReceivedMail[], arrivals: EventTarget, fits: (mail: ReceivedMail) => boolean, timeout_ms: number): Promise<ReceivedMail> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const found = messages.find(fits);
      if (!found) return;
      finish();
      resolve(found);
    };
    const timer = setTimeout(() => {
      finish();
      const seen = messages.map((mail) => `"${mail.subject}" to ${mail.to.join(", ")}`).join("; ");
      reject(new Error(`No such mail within ${timeout_ms} ms. Received: ${seen || "nothing"}.`));
    }, timeout_ms);
    const finish = () => {
      clearTimeout(timer);
      arrivals.removeEventListener("mail", look);
    };
    arrivals.addEventListener("mail", look);
    look();
  });
}

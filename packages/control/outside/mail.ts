/** Mail through the operator's own SMTP server. */
import { createTransport } from "nodemailer";
import type { Mail } from "../deps.ts";

export function smtpMail({ url, from }: { url: string; from: string }): Mail & { close(): void } {
  const transport = createTransport({ url, connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 } as never);
  return {
    async send({ to, subject, text, message_id }) {
      await transport.sendMail({ from, to: { name: "", address: to }, subject, text, messageId: message_id });
    },
    close: () => transport.close(),
  };
}

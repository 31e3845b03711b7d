import { createTransport } from "nodemailer";
import { expect, onTestFinished, test } from "vitest";
import { decodeMessage } from "./mime.ts";
import { type SmtpOptions, startSmtp } from "./smtp.ts";

async function start(options?: SmtpOptions) {
  const smtp = await startSmtp(options);
  onTestFinished(() => smtp.stop());
  return { smtp, transport: createTransport(smtp.url) };
}

const mail = {
  from: "Stead <stead@example.com>",
  to: "zoë@example.com",
  subject: "Grüße – ein Test mit einem recht langen Betreff, damit er umbricht",
  text: "Hallo Zoë,\n\n2 = 2 und eine sehr lange Zeile, damit quoted-printable sie umbrechen muss, also noch ein paar Wörter.\n.\nEnde\n",
};

test.each(["quoted-printable", "base64"] as const)("a mail sent as %s is read as it was written", async (textEncoding) => {
  const { smtp, transport } = await start();
  const { messageId } = await transport.sendMail({ ...mail, textEncoding });
  const received = await smtp.waitFor((each) => each.message_id === messageId);
  expect(received).toMatchObject({ from: "stead@example.com", subject: mail.subject });
  expect(received.text).toBe(mail.text);
  expect(received.headers.to).toContain("example.com");
  expect(smtp.messages).toHaveLength(1);
});

test("the first messages are refused as by a busy server, and a retry is taken", async () => {
  const { smtp, transport } = await start({ refuse_first: 2 });
  for (const _ of [1, 2]) await expect(transport.sendMail(mail)).rejects.toMatchObject({ responseCode: 451 });
  await transport.sendMail(mail);
  expect([smtp.refused, smtp.messages.length]).toEqual([2, 1]);
});

test("a mail that comes later is waited for, and one that does not is an error that says what came", async () => {
  const { smtp, transport } = await start();
  const waiting = smtp.waitFor((each) => each.to.includes("late@example.com"));
  await transport.sendMail({ ...mail, to: "late@example.com" });
  expect((await waiting).to).toEqual(["late@example.com"]);
  await expect(smtp.waitFor((each) => each.to.length === 7, 50)).rejects.toThrow('Received: "Grüße');
});

test("folded headers, encoded words cut in two and a foreign charset are read", () => {
  const { headers, text } = decodeMessage(
    "Subject: =?utf-8?Q?caf=C3?=\r\n =?utf-8?Q?=A9_au_lait?= now\r\nMessage-ID:\r\n <1@x>\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nna=EFve=\r\n!",
  );
  expect(headers).toMatchObject({ subject: "café au lait now", "message-id": "<1@x>" });
  expect(text).toBe("naïve!");
});

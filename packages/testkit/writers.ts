/**
 * Writers that keep a control plane busy while it is killed under them. Each has a journal of what it asked for
 * and what was acknowledged, against which the database can be held in the end.
 */
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { SteadError, SteadUnreachable } from "@stead/sdk/client.ts";
import { type Person, password } from "./world.ts";

export type WriteKind = "team" | "profile" | "key" | "invite" | "signup";

export interface JournalEntry {
  readonly kind: WriteKind;
  /** The one name that this write puts into the database. */
  readonly name: string;
  readonly idempotency_key: string;
  acknowledged: boolean;
  /** How often it was sent, as far as the writer can tell. */
  sent: number;
  reply: unknown;
}

export interface Writer {
  readonly person: Person;
  readonly journal: JournalEntry[];
}

export class Crew {
  readonly writers: readonly Writer[];
  /** Answers that nobody should have got. */
  readonly refusals: string[] = [];
  readonly #port: number;
  readonly #work: Promise<unknown>;
  #stopping = false;
  #listening: Promise<void> | null = null;

  constructor(people: readonly Person[], port: number) {
    this.#port = port;
    this.writers = people.map((person) => ({ person, journal: [] }));
    this.#work = Promise.all(this.writers.map((writer) => this.#run(writer)));
  }

  get journal(): JournalEntry[] {
    return this.writers.flatMap(({ journal }) => journal);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#work;
  }

  async #run({ person, journal }: Writer): Promise<void> {
    let tid: string | null = null;
    for (let n = 0; n < 100_000 && !this.#stopping; n++) {
      const entry = nextEntry(person, n, tid !== null);
      journal.push(entry);
      await this.#write(person, entry, tid);
      if (entry.kind === "team" && entry.acknowledged) tid = (entry.reply as { tid: string }).tid;
    }
  }

  /** After a lost answer a writer either tries again under the same key, or never learns what became of it. */
  async #write(person: Person, entry: JournalEntry, tid: string | null): Promise<void> {
    const persistent = Math.random() < 0.6;
    while (!this.#stopping) {
      try {
        entry.reply = await send(person, entry, tid);
        entry.sent++;
        entry.acknowledged = true;
        return;
      } catch (error) {
        if (!(error instanceof SteadUnreachable) || !neverSent(error)) entry.sent++;
        if (this.#isOver(entry, error, persistent)) return;
      }
      await this.#untilSomebodyListens();
    }
  }

  #isOver(entry: JournalEntry, error: unknown, persistent: boolean): boolean {
    if (error instanceof SteadUnreachable) return !persistent && !neverSent(error);
    if (!(error instanceof SteadError)) throw error;
    // A repeat of what gives a secret is told that it was done: that is an acknowledgement too.
    if (error.code === "already_performed") entry.acknowledged = true;
    else if (error.code === "idempotency_in_progress") return false;
    else this.refusals.push(`${entry.kind} ${error.status} ${error.code} ${error.message}`);
    return true;
  }

  /** Asked for by all writers and looked for once, so that waiting for the next process does not slow its start. */
  #untilSomebodyListens(): Promise<void> {
    this.#listening ??= (async () => {
      do await sleep(10);
      while (!this.#stopping && !(await isListening(this.#port)));
    })().finally(() => {
      this.#listening = null;
    });
    return this.#listening;
  }
}

function nextEntry({ email }: Person, n: number, hasTeam: boolean): JournalEntry {
  const dice = Math.random();
  const kind = dice < 0.35 ? "team" : dice < 0.6 ? "profile" : dice < 0.75 ? "key" : dice < 0.92 && hasTeam ? "invite" : "signup";
  const id = `${email.split("@")[0]}-${n}`;
  const names = {
    team: `team ${id}`,
    key: `key ${id}`,
    profile: `+49${1_000_000_000 + n}`,
    invite: `invite-${id}@example.com`,
    signup: `signup-${id}@example.com`,
  };
  return { kind, name: names[kind], idempotency_key: `key-${id}`, acknowledged: false, sent: 0, reply: null };
}

/** A sign-up has no key: who repeats it gets the same answer, and a message that there is an account. */
function send({ uid, client }: Person, { kind, name, idempotency_key }: JournalEntry, tid: string | null): Promise<unknown> {
  const options = { idempotency_key };
  if (kind === "team") return client.teams.create({ uid, name }, options);
  if (kind === "profile") return client.users.update({ uid, phone: name }, options);
  if (kind === "key") return client.keys.create({ uid, name, scopes: ["sites:read"] }, options);
  if (kind === "invite") return client.teams.invite({ uid, tid: tid as string, email: name }, options);
  return client.auth.signup({ email: name, password });
}

const neverSent = ({ cause }: SteadUnreachable): boolean => (cause as { cause?: { code?: string } }).cause?.code === "ECONNREFUSED";

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    }).on("error", () => resolve(false));
  });

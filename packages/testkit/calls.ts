/**
 * For every mounted operation one call that succeeds, with objects made for it. Walks over all operations start here:
 * an operation that is mounted without a call of its own stops them.
 */
import { randomInt, randomUUIDv7 } from "node:crypto";
import { everyOperation } from "@stead/contract/index.ts";
import type { Operation } from "@stead/contract/operation.ts";
import { areas } from "@stead/control/areas/index.ts";
import { hashOf, newSecret } from "@stead/control/identity/credential.ts";
import { inHours, newToken } from "@stead/control/identity/one-time.ts";
import { cookieName } from "@stead/control/identity/sessions.ts";
import { type Cast, join, makeInvitation, makeKey, makeTeam, share, type Thing } from "./cast.ts";
import type { Person } from "./world.ts";

export interface Call {
  /** What stands in the path besides the uid. */
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Makes what the call needs, as things of `subject`: the caller's own, or a victim's. Things of a team are those of the cast's team. */
type Prepare = (cast: Cast, subject: Person) => Promise<Call> | Call;

export const mounted: readonly { readonly name: string; readonly op: Operation }[] = everyOperation.filter(({ area, key }) =>
  Object.hasOwn((areas as Record<string, object>)[area] ?? {}, key),
);

export function callOf(name: string): Prepare {
  const prepare = calls[name];
  if (!prepare) throw new Error(`${name} is mounted, but testkit/calls.ts has no call of it`);
  return prepare;
}

/** The address of a call on behalf of that uid. */
export const addressOf = (op: Operation, uid: string, params: Call["params"] = {}): string =>
  `/api/v2${op.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(name === "uid" ? uid : (params[name] ?? `{${name}}`)))}`;

const newEmail = () => `new-${randomUUIDv7()}@example.com`;
const soon = () => new Date(Date.now() + 600_000);
const nothing = () => ({});

const tokenFor =
  (kind: "verify" | "reset", more: object = {}): Prepare =>
  async ({ world }, { uuid }) => ({ body: { token: await newToken(world.db, kind, { uid: uuid }, inHours(new Date(), 1)), ...more } });

async function deviceLogin({ world }: Cast, uid: string | null) {
  const letters = "BCDFGHJKLMNPQRSTVWXZ";
  const word = () => Array.from({ length: 4 }, () => letters[randomInt(letters.length)]).join("");
  const [device_code, user_code] = [newSecret(), `${word()}-${word()}`];
  await world.db
    .insertInto("device_logins")
    .values({ device_hash: hashOf(device_code), user_code, uid, client_name: "laptop", expires_at: soon() })
    .execute();
  return { device_code, user_code };
}

const withCookie: Prepare = async ({ world }, { uuid }) => {
  const refresh = newSecret();
  await world.db
    .insertInto("sessions")
    .values({ session_id: randomUUIDv7(), uid: uuid, refresh_hash: hashOf(refresh), ip: "192.0.2.1", user_agent: "", expires_at: soon() })
    .execute();
  return { headers: { cookie: `${cookieName}=${refresh}` } };
};

const asked: Prepare = async ({ world }, to) => {
  const by = await world.person("asker");
  return { params: { pending_id: (await makeInvitation(world, { team: await makeTeam(world, by), by, to })).id } };
};

const asking: Prepare = async ({ world }, by) => {
  const to = await world.person("asked");
  return { params: { pending_id: (await makeInvitation(world, { team: await makeTeam(world, by), by, to })).id } };
};

const onTeam =
  (more: (cast: Cast) => Promise<Call> | Call = nothing): Prepare =>
  async (cast) => {
    const { params, ...rest } = await more(cast);
    return { params: { tid: cast.team.id, ...params }, ...rest };
  };

const newMember = async ({ world, team }: Cast) => {
  const person = await world.person("joined");
  await join(world, team, person, "member");
  return { member_uid: person.uid };
};

async function newServer({ world, owner }: Cast, team?: Thing) {
  const { uuid, sid } = await world.server(owner);
  if (team) await share(world, team, uuid);
  return { sid };
}

const calls: Readonly<Record<string, Prepare>> = {
  "users.get": nothing,
  "users.me": nothing,
  "users.update": () => ({ body: { first_name: "Ada" } }),
  "users.change_password": (_, { password }) => ({ body: { old_password: password, new_password: "a quite different phrase" } }),
  "users.delete": nothing,
  "users.regenerate_api_key": nothing,
  "users.login_history": nothing,
  "users.activity": nothing,
  "users.pending": nothing,

  "auth.signup": () => ({ body: { email: newEmail(), password: "a quite different phrase" } }),
  "auth.login": (_, { email, password }) => ({ body: { email, password } }),
  "auth.refresh": withCookie,
  "auth.logout": withCookie,
  "auth.verify": tokenFor("verify"),
  "auth.resend_verification": (_, { email }) => ({ body: { email } }),
  "auth.forgot": (_, { email }) => ({ body: { email } }),
  "auth.reset": tokenFor("reset", { new_password: "a quite different phrase" }),
  "auth.device": () => ({ body: { client_name: "laptop" } }),
  "auth.device_token": async (cast, { uuid }) => ({ body: { device_code: (await deviceLogin(cast, uuid)).device_code } }),
  "auth.device_approve": async (cast) => ({ body: { user_code: (await deviceLogin(cast, null)).user_code } }),

  "keys.list": nothing,
  "keys.create": () => ({ body: { name: "deploy", scopes: ["sites:read"] } }),
  "keys.revoke": async ({ world }, subject) => ({ params: { key_id: (await makeKey(world, subject)).id } }),

  "pending.outgoing": nothing,
  "pending.accept": asked,
  "pending.decline": asked,
  "pending.cancel": asking,

  "teams.create": () => ({ body: { name: `Team ${randomUUIDv7()}` } }),
  "teams.list": nothing,
  "teams.get": onTeam(),
  "teams.rename": onTeam(() => ({ body: { name: `Team ${randomUUIDv7()}` } })),
  "teams.delete": onTeam(),
  "teams.leave": onTeam(),
  "teams.add_member": onTeam(async ({ world }) => ({ body: { member_uid: (await world.person("newcomer")).uid } })),
  "teams.invite": onTeam(() => ({ body: { email: newEmail() } })),
  "teams.remove_member": onTeam(async (cast) => ({ params: await newMember(cast) })),
  "teams.change_role": onTeam(async (cast) => ({ params: await newMember(cast), body: { role: "viewer" } })),
  "teams.add_server": onTeam(async (cast) => ({ body: await newServer(cast) })),
  "teams.remove_server": onTeam(async (cast) => ({ params: await newServer(cast, cast.team) })),

  "billing.plans": nothing,
  "meta.catalog": nothing,
  "meta.version": nothing,
};

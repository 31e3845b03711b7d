/** Scoped keys beside the primary one. */
import { randomUUIDv7 } from "node:crypto";
import { Fault } from "@stead/base/fault.ts";
import { formatId } from "@stead/base/id.ts";
import type { keys } from "@stead/contract/keys.ts";
import { getSeenServer } from "../../db/servers.ts";
import { type Handlers, many } from "../../http/handler.ts";
import { hashOf, newCredential } from "../../identity/credential.ts";
import * as store from "./store.ts";

export const handlers: Handlers<typeof keys> = {
  list: many((db, { uid }) => store.list(db, uid as string)),

  async create({ tx, deps, actor, body, headers, record }) {
    const expires_at = body.expires_at === undefined ? null : new Date(body.expires_at);
    // Not "<=": a time that is none at all must not pass either, nor one whose year, in UTC, has five digits.
    if (expires_at && !(expires_at > deps.clock.now() && expires_at.getUTCFullYear() < 10_000))
      throw new Fault("invalid", "validation_failed", "`expires_at` must be a time in the future.");
    const servers = body.sids ? await Promise.all(body.sids.map((sid) => getSeenServer(tx, actor, sid))) : null;
    const api_key = newCredential("stead_");
    const key = await store.insert(tx, {
      key_id: randomUUIDv7(),
      uid: actor.uid,
      kind: "scoped",
      hash: hashOf(api_key),
      last4: api_key.slice(-4),
      name: body.name,
      scopes: [...new Set(body.scopes)],
      sids: servers?.map(({ sid }) => sid) ?? null,
      cidrs: body.cidrs ?? null,
      expires_at,
    });
    record({ action: "user.api_key_create", detail: `Created the API key ${body.name}, which ends in ${api_key.slice(-4)}.` });
    headers.location = `/api/v2/ext/apikeys/${formatId("ak", key.id)}/users/${formatId("usr", actor.uid)}`;
    return { data: { ...key, api_key } as never };
  },

  async revoke({ tx, actor, params, record }) {
    const gone = await tx
      .deleteFrom("credentials")
      .where("key_id", "=", params.key_id)
      .where("uid", "=", actor.uid)
      .where("kind", "in", ["primary", "scoped"])
      .returning(["name", "last4"])
      .executeTakeFirst();
    if (!gone) throw new Fault("not_found", "not_found", "API key not found.");
    record({ action: "user.api_key_revoke", detail: `Revoked the API key ${gone.name}, which ended in ${gone.last4}.` });
    return { message: "API key revoked." };
  },
};

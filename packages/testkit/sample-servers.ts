/**
 * Operations on servers in their smallest form, for tests of the edge that need what no area of today has:
 * a GET that changes something, a role below owner, an entity tag of a server, a read that gives a secret.
 */
import type { servers } from "@stead/contract/servers.ts";
import { type Handlers, one } from "@stead/control/http/handler.ts";
import { sql } from "kysely";

type Sampled = Pick<typeof servers, "get" | "rename" | "reboot" | "install">;

const handlers: Handlers<Sampled> = {
  get: one((db, { sid }) =>
    db
      .selectFrom("servers")
      .select([
        "sid",
        "name",
        sql<string>`host(ip)`.as("ip"),
        sql.lit("debian-13").as("os"),
        sql.lit("active").as("status"),
        sql.lit("UTC").as("timezone"),
        sql.lit("8.4").as("php_cli_version"),
        "created_at",
      ])
      .where("sid", "=", sid as string),
  ),
  async rename({ tx, server, body, record }) {
    await tx.updateTable("servers").set({ name: body.name }).where("sid", "=", server.sid).execute();
    record({ action: "server.rename", detail: `Renamed the server to ${body.name}.`, uid: server.owner_uid, sid: server.sid });
    return { data: { sid: server.sid, name: body.name } };
  },
  reboot({ server, record }) {
    record({ action: "server.reboot", detail: "Rebooted the server.", uid: server.owner_uid, sid: server.sid });
    return { message: "Reboot scheduled." };
  },
  install: () => ({ data: { command: "sh -s -- --token 7Qk2mXv9Ls4T", expires_at: new Date(0).toISOString() } }),
};

export const sampleServers = { servers: handlers };

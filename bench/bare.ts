/**
 * The yardstick: `node:http` and `pg`, nothing else. Key check and list are two named statements; the write is
 * the key check and then one transaction with the rows that Stead writes too.
 */
import { createHash, randomUUIDv7 } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parseId } from "@stead/base/id.ts";
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: Number(process.env.BENCH_CONNECTIONS) });

const keyCheck = {
  name: "key",
  text: "select c.uid from credentials c join users u on u.uid = c.uid where c.hash = $1 and (c.expires_at is null or c.expires_at > now())",
};
const list = { name: "list", text: "select id, type, detail, created_at from pending where uid = $1 and expires_at > now() order by created_at" };
const writes = {
  bump: { name: "bump", text: "update servers set wanted_generation = wanted_generation + 1 where sid = $1 and owner_uid = $2 returning wanted_generation" },
  database: { name: "database", text: "insert into databases (did, sid, name, generation) values ($1, $2, $3, $4) on conflict do nothing returning did, name" },
  activity: { name: "activity", text: "insert into activity (id, uid, actor_uid, sid, action, detail) values ($1, $2, $2, $3, $4, $5)" },
  operation: {
    name: "operation",
    text: "insert into operations (oid, uid, sid, generation, type, resource_type, resource_id) values ($1, $2, $3, $4, $5, $6, $7)",
  },
  idempotency: { name: "idempotency", text: "insert into idempotency (uid, key_hash, request_hash, status, body, headers) values ($1, $2, $3, $4, $5, $6)" },
};

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

async function authenticated(request: IncomingMessage): Promise<string | undefined> {
  const token = (request.headers.authorization ?? "").slice("Bearer ".length);
  const { rows } = await pool.query({ ...keyCheck, values: [sha256(token)] });
  return rows[0]?.uid;
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", "content-length": Buffer.byteLength(text) }).end(text);
}

async function read(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const uid = await authenticated(request);
  if (uid === undefined) return send(response, 401, { message: "no" });
  const { rows } = await pool.query({ ...list, values: [uid] });
  send(response, 200, { data: rows });
}

async function write(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = "";
  for await (const chunk of request) text += chunk;
  const { name } = JSON.parse(text) as { name: string };
  const uid = await authenticated(request);
  if (uid === undefined) return send(response, 401, { message: "no" });
  const sid = parseId("srv", (request.url ?? "").split("/")[5] ?? "");
  const client = await pool.connect();
  try {
    await client.query("begin");
    const bumped = await client.query({ ...writes.bump, values: [sid, uid] });
    const generation = bumped.rows[0].wanted_generation;
    const { rows } = await client.query({ ...writes.database, values: [randomUUIDv7(), sid, name, generation] });
    const body = { data: rows[0] };
    await client.query({ ...writes.activity, values: [randomUUIDv7(), uid, sid, "database.create", `Created the database ${name}.`] });
    await client.query({ ...writes.operation, values: [randomUUIDv7(), uid, sid, generation, "database.create", "database", rows[0].did] });
    await client.query({
      ...writes.idempotency,
      values: [uid, sha256(String(request.headers["idempotency-key"])), sha256(text), 201, JSON.stringify(body), "{}"],
    });
    await client.query("commit");
    send(response, 201, body);
  } finally {
    client.release();
  }
}

const server = createServer((request, response) => {
  (request.method === "GET" ? read : write)(request, response).catch(() => send(response, 500, { message: "accident" }));
});
server.listen(0, "127.0.0.1", () => process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`));

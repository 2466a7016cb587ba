import { randomBytes } from "node:crypto";
import type { Queries } from "./database.ts";

const SECRET_BYTES = 32;

/** A secret and its creation time. */
export type DeploymentSecret = { readonly secret: string; readonly createdAt: Date };

/**
 * A secret of this deployment, 32 random bytes as hexadecimal text: the same in every process on the database, for the
 * lifetime of the database. It is created on first use, never by a migration, since databases are also created as
 * copies of a template.
 */
export async function readDeploymentSecret(queries: Queries, name: string): Promise<DeploymentSecret> {
  await queries.rows(INSERT, [name, randomBytes(SECRET_BYTES).toString("hex")]);
  const [row] = await queries.rows<{ secret: string; created_ms: string }>(SELECT, [name]);
  if (!row) throw new Error(`the deployment has no secret ${name}`);
  return { secret: row.secret, createdAt: new Date(Number(row.created_ms)) };
}

const INSERT = `
  insert into deployment_secret (name, secret) values ($1::text, $2::text) on conflict (name) do nothing`;
const SELECT = `
  select secret, floor(extract(epoch from created_at) * 1000)::bigint::text as created_ms
  from deployment_secret where name = $1::text`;

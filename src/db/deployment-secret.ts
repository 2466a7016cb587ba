import { randomBytes } from "node:crypto";
import type { Queries } from "./database.ts";

const SECRET_BYTES = 32;

/**
 * A secret of this deployment, 32 random bytes as hexadecimal text: the same in every process on the database, and for
 * as long as the database lives. It is made by whoever asks first, never by a migration, since databases are also made
 * as copies of a template.
 */
export async function readDeploymentSecret(queries: Queries, name: string): Promise<string> {
  await queries.rows(INSERT, [name, randomBytes(SECRET_BYTES).toString("hex")]);
  const [row] = await queries.rows<{ secret: string }>(SELECT, [name]);
  if (!row) throw new Error(`the deployment has no secret ${name}`);
  return row.secret;
}

const INSERT = `
  insert into deployment_secret (name, secret) values ($1::text, $2::text) on conflict (name) do nothing`;
const SELECT = "select secret from deployment_secret where name = $1::text";

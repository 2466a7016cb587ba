import type { Pool } from "pg";
import { queryOpenSessions } from "./open-sessions.ts";
import { newClient, type ServerAddress } from "./server-address.ts";
import type { SessionConfig } from "./session-client.ts";
import { isUnknownParameter } from "./statement-timeout.ts";

/**
 * What the product relies on, whatever the server, the database or the role has as its default: `pg` and the ORM read
 * only ISO dates, and at a higher isolation concurrent statements on one account fail.
 */
const SESSION = { DateStyle: "ISO", default_transaction_isolation: "read committed" } as const;

/**
 * Gives every session of `pool` the settings that the product relies on, whether it is open already or not. Resolves with
 * the parameters for connections of other pools. A pooler keeps its defaults, or does not accept the parameters: then
 * there are none, and an error is thrown if the product would fail with the defaults.
 */
export async function setSessions(
  pool: Pool,
  address: ServerAddress,
  isPooled: boolean,
): Promise<Pick<SessionConfig, "session">> {
  if (isPooled || !(await acceptsSession(address))) {
    await requireDefaults(pool);
    return {};
  }
  (pool.options as { session?: SessionConfig["session"] }).session = SESSION;
  const text = Object.entries(SESSION)
    .map(([name, value]) => `set ${name} = '${value}'`)
    .join("; ");
  await queryOpenSessions(pool, text);
  return { session: SESSION };
}

async function acceptsSession(address: ServerAddress): Promise<boolean> {
  const client = newClient({ ...address, session: SESSION });
  try {
    await client.connect();
    return true;
  } catch (error) {
    if (isUnknownParameter(error)) return false;
    throw error;
  } finally {
    await client.end().catch(() => {});
  }
}

async function requireDefaults(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ isolation: string; dates: string }>(
    `select current_setting('default_transaction_isolation') as isolation, current_setting('DateStyle') as dates`,
  );
  const { isolation = "", dates = "" } = rows[0] ?? {};
  if (!isolation.startsWith("read "))
    throw unfit("default_transaction_isolation", isolation, "read committed");
  if (!dates.startsWith("ISO")) throw unfit("DateStyle", dates, "ISO");
}

function unfit(name: string, value: string, wanted: string): Error {
  return new Error(
    `${name} is '${value}': with a pooler it must be '${wanted}', as by alter role ... set ${name} = '${wanted}'`,
  );
}

import * as z from "zod/mini";
import { client, graphql, resultOf } from "../query/graph.ts";
import { readOwn, writeOwn } from "./own-storage.ts";

const CREATE = graphql(`
  mutation CreateSessionKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) { secret apiKey { id } userErrors { field message } }
  }
`);
const REVOKE = graphql(`
  mutation RevokeSessionKey($input: RevokeApiKeyInput!) {
    revokeApiKey(input: $input) { apiKey { id } userErrors { field message } }
  }
`);

/** As long as a session. */
const HOURS = 12;
/** 1 token, in neuron: the most that the key spends. */
export const SESSION_KEY_LIMIT = "1000000000000000000";
const SECRET = "session-key";
const IDS = "session-key-ids";
const MAX_IDS = 32;

const stored = z.object({ id: z.string(), secret: z.string(), expiresAt: z.string() });
const storedIds = z.array(z.string());

/** An `sk-` key that the dashboard made for itself: it expires with the session, and signing out revokes it. */
export type SessionKey = z.infer<typeof stored>;

/** The session key of this tab; undefined if there is none, or it has expired. */
export function readSessionKey(address: string): SessionKey | undefined {
  const { data } = z.safeParse(stored, readOwn("session", address, SECRET));
  return data && Date.parse(data.expiresAt) > Date.now() ? data : undefined;
}

/** Creates a session key, and keeps it in this tab. Throws what the user can correct, or the reason. */
export async function createSessionKey(address: string): Promise<SessionKey> {
  const expiresAt = new Date(Date.now() + HOURS * 3_600_000).toISOString();
  const name = `Dashboard session ${new Date().toISOString()}`;
  const input = { name, expiresAt, creditLimit: SESSION_KEY_LIMIT };
  const made = await client.mutation(CREATE, { input }).toPromise();
  const { secret, apiKey } = resultOf(made.data?.createApiKey, made.error);
  if (!secret || !apiKey) throw new Error("The key was not created.");
  const key = { id: apiKey.id, secret, expiresAt };
  writeOwn("local", address, IDS, [...idsOf(address), key.id].slice(-MAX_IDS));
  writeOwn("session", address, SECRET, key);
  return key;
}

/** Drops the session key of this tab and revokes it. */
export async function revokeSessionKey(address: string): Promise<void> {
  const key = readSessionKey(address);
  writeOwn("session", address, SECRET, undefined);
  if (key) await revoke(key.id);
}

/** Revokes the session keys of all tabs of this browser. One that cannot be revoked now expires by itself. */
export async function revokeSessionKeys(address: string): Promise<void> {
  await Promise.allSettled(idsOf(address).map(revoke));
}

async function revoke(id: string): Promise<void> {
  const done = await client.mutation(REVOKE, { input: { id } }).toPromise();
  resultOf(done.data?.revokeApiKey, done.error);
}

function idsOf(address: string): readonly string[] {
  return z.safeParse(storedIds, readOwn("local", address, IDS)).data ?? [];
}

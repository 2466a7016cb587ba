import { z } from "zod";
import type { Hex } from "../../kernel/text/hex.ts";
import { defineRoute, json } from "../route.ts";
import { address, count, timestamp } from "../wire.ts";

/** A contract wallet that is not deployed yet signs with its deployment: 32 KiB leave room for that. */
const MAX_SIGNATURE_CHARACTERS = 65_538;
const hex = z
  .string()
  .max(MAX_SIGNATURE_CHARACTERS)
  .regex(/^0x([0-9a-fA-F]{2})*$/, "must be 0x and pairs of hexadecimal digits");

/** GET /v1/auth/nonce (facts 1.1): a nonce for one sign-in message within 5 minutes. */
export const getNonce = defineRoute({
  method: "GET",
  url: "/v1/auth/nonce",
  summary: "Get a nonce to sign in with",
  access: "public",
  answer: { json: z.strictObject({ nonce: z.string(), expires_at: timestamp }) },
  async handle(app) {
    const { nonce, expiresAt } = await app.sessions.createNonce();
    return json({ nonce, expires_at: expiresAt.toISOString() });
  },
});

/** POST /v1/auth/signin: opens a wallet session for a signed message (EIP-4361). The token is returned only once. */
export const signIn = defineRoute({
  method: "POST",
  url: "/v1/auth/signin",
  summary: "Sign in with a wallet",
  access: "public",
  body: z.strictObject({ message: z.string(), signature: hex }),
  answer: { json: z.strictObject({ token: z.string(), expires_at: timestamp, wallet_address: address }) },
  async handle(app, { body: { message, signature } }) {
    const { token, account, expiresAt } = await app.sessions.signIn({ message, signature: signature as Hex });
    return json({ token, expires_at: expiresAt.toISOString(), wallet_address: account });
  },
});

/** POST /v1/auth/signout: ends the caller's session; with `{"all": true}` every session of the wallet. */
export const signOut = defineRoute({
  method: "POST",
  url: "/v1/auth/signout",
  summary: "End this wallet session, or all sessions of the wallet",
  access: "session.end",
  body: z.strictObject({ all: z.boolean().default(false) }).prefault({}),
  answer: { json: z.strictObject({ message: z.string(), sessions_ended: count }) },
  async handle(app, { principal, body }) {
    const ended = await app.sessions.signOut(principal, { everywhere: body.all });
    return json({ message: "Signed out", sessions_ended: ended });
  },
});

/** GET /v1/auth/me: the signed-in wallet, and when the session expires. */
export const getMe = defineRoute({
  method: "GET",
  url: "/v1/auth/me",
  summary: "Retrieve the current session",
  access: "session.read",
  answer: {
    json: z.strictObject({ auth_type: z.literal("session"), wallet_address: address, expires_at: timestamp }),
  },
  async handle(app, { principal }) {
    const { account, expiresAt } = await app.sessions.current(principal);
    return json({ auth_type: "session", wallet_address: account, expires_at: expiresAt.toISOString() });
  },
});

import { AppError } from "../../kernel/errors.ts";

/** The message of each error about a credential that has ended, or whose scopes changed during a connection. */
const MESSAGES = {
  api_key_revoked: "This key was revoked.",
  api_key_expired: "This key has expired.",
  session_ended: "This session has ended: sign in again.",
  insufficient_scope: "The scopes of this key were changed: connect again.",
} as const;

/** Why a credential may no longer be used. */
export type CredentialEnd = keyof typeof MESSAGES;

/** The error about an ended credential: one message, whichever module detects it. */
export function credentialEnded(code: CredentialEnd): AppError {
  return new AppError(code, MESSAGES[code]);
}

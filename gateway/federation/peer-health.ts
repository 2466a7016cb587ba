import { Pool } from "undici";

/** Whether another process that has not answered yet is only slow. */
export interface PeerHealth {
  /** How long it may be silent. */
  readonly silentMs: number;
  /** Whether the process answers now. Never rejects. */
  isAlive(): Promise<boolean>;
  close(): Promise<void>;
}

const SERVER_ERROR = 500;

/**
 * Requests the `/healthz` beside a GraphQL endpoint, over a connection of its own, as all others may be waiting for slow
 * answers. It has half of `silentMs` to answer. Calls at the same time share the answer.
 */
export function createPeerHealth(url: string, silentMs: number): PeerHealth {
  const { origin, pathname } = new URL(url);
  const path = `${pathname.replace(/\/graphql$/, "")}/healthz`;
  const halfMs = silentMs / 2;
  const pool = new Pool(origin, { connections: 1, connect: { timeout: halfMs } });
  let pending: Promise<boolean> | undefined;
  const probe = async () => {
    try {
      const { statusCode, body } = await pool.request({
        ...{ path, method: "GET", signal: AbortSignal.timeout(halfMs) },
      });
      await body.dump();
      // A proxy in front of the process answers with a status of its own.
      return statusCode < SERVER_ERROR;
    } catch {
      return false;
    } finally {
      pending = undefined;
    }
  };
  return {
    silentMs,
    isAlive() {
      pending ??= probe();
      return pending;
    },
    close: () => pool.destroy(),
  };
}

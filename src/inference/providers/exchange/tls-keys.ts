import { createHash } from "node:crypto";
import { TLSSocket } from "node:tls";
import type { buildConnector } from "undici";

/** The TLS keys of the servers that connections of an origin end at, while they are open. */
export class TlsKeys {
  readonly #open = new Map<string, Map<TLSSocket, string>>();

  /** SHA-256 of the public keys (of their SubjectPublicKeyInfo), in hexadecimal, each once; none without TLS. */
  of(origin: string): readonly string[] {
    return [...new Set(this.#open.get(origin)?.values())];
  }

  /** The connector, observed: it notes the key of each connection that it makes until that is closed. */
  observed(origin: string, connect: buildConnector.connector): buildConnector.connector {
    return (target, done) =>
      connect(target, (...[error, socket]: buildConnector.CallbackArgs) => {
        if (error) return done(error, null);
        if (socket instanceof TLSSocket) this.#note(origin, socket);
        done(null, socket);
      });
  }

  #note(origin: string, socket: TLSSocket): void {
    const key = socket.getPeerX509Certificate()?.publicKey.export({ type: "spki", format: "der" });
    if (!key) return;
    const sockets = this.#open.get(origin) ?? new Map<TLSSocket, string>();
    this.#open.set(origin, sockets.set(socket, createHash("sha256").update(key).digest("hex")));
    socket.once("close", () => {
      sockets.delete(socket);
      if (sockets.size === 0 && this.#open.get(origin) === sockets) this.#open.delete(origin);
    });
  }
}

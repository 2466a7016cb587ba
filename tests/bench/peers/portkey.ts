import { Server } from "node:net";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { PeerPackages } from "../../peers/install.ts";

/** `@portkey-ai/gateway`, the best known gateway in JavaScript, unmodified. */
export const PORTKEY: PeerPackages = {
  what: "Portkey's gateway to compare with",
  manifest: resolve("tests/bench/peers/packages"),
  folder: resolve(".cache/bench-peers"),
};

if (import.meta.main) await serve();

/** Starts it on a free port of 127.0.0.1 and prints its address: it would listen on every address of the machine. */
async function serve(): Promise<void> {
  const { listen } = Server.prototype;
  Server.prototype.listen = function (this: Server): Server {
    this.once("listening", () => {
      const address = this.address();
      console.log(`ready at http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`);
    });
    return Reflect.apply(listen, this, [{ port: 0, host: "127.0.0.1" }]) as Server;
  } as typeof listen;
  process.argv.push("--headless");
  const server = resolve(PORTKEY.folder, "node_modules/@portkey-ai/gateway/build/start-server.js");
  await import(pathToFileURL(server).href);
}

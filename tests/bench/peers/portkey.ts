import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { Server } from "node:net";
import { fileURLToPath, pathToFileURL } from "node:url";

/**
 * `@portkey-ai/gateway`, the best known gateway in JavaScript, as it comes. It is installed beside our packages and
 * not among them. Newer versions of its server answer every stream with 500, so they are named here.
 */
const FOLDER = fileURLToPath(new URL("../../../node_modules/.cache/bench-portkey", import.meta.url));
const HONO = "4.9.7";
const NODE_SERVER = "1.13.5";
const MANIFEST = {
  private: true,
  dependencies: { "@portkey-ai/gateway": "1.15.2", hono: HONO, "@hono/node-server": NODE_SERVER },
  overrides: { hono: HONO, "@hono/node-server": NODE_SERVER },
};

mkdirSync(FOLDER, { recursive: true });
writeFileSync(`${FOLDER}/package.json`, JSON.stringify(MANIFEST));
rmSync(`${FOLDER}/package-lock.json`, { force: true });
execFileSync("npm", ["install", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"], {
  cwd: FOLDER,
  stdio: ["ignore", "ignore", "inherit"],
});

// It would listen on every address, and does not say on which port.
const { listen } = Server.prototype;
Server.prototype.listen = function (this: Server): Server {
  this.once("listening", () => {
    const address = this.address();
    console.log(`ready at http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`);
  });
  return Reflect.apply(listen, this, [{ port: 0, host: "127.0.0.1" }]) as Server;
} as typeof listen;

process.argv.push("--headless");
await import(pathToFileURL(`${FOLDER}/node_modules/@portkey-ai/gateway/build/start-server.js`).href);

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { OnEnd } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);

/**
 * Serves the files of a folder with nginx, one worker, default settings. Undefined when this machine has
 * none.
 */
export async function startNginx(folder: string, onEnd: OnEnd): Promise<string | undefined> {
  const bin = await findNginx().catch(() => undefined);
  if (!bin) return undefined;
  const port = await freePort();
  const home = join(folder, "..", "nginx");
  mkdirSync(home, { recursive: true });
  const configuration = `
    daemon off; worker_processes 1; pid ${home}/pid; error_log ${home}/error.log;
    events { worker_connections 512; }
    http {
      access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
      client_body_temp_path ${home}/body; proxy_temp_path ${home}/proxy; fastcgi_temp_path ${home}/fastcgi;
      uwsgi_temp_path ${home}/uwsgi; scgi_temp_path ${home}/scgi;
      open_file_cache max=20000; default_type application/octet-stream;
      server { listen 127.0.0.1:${port}; root ${folder}; }
    }`;
  writeFileSync(join(home, "nginx.conf"), configuration);
  const user = process.getuid?.() === 0 ? ["-g", "user root;"] : [];
  const child = spawn(bin, ["-p", home, "-c", join(home, "nginx.conf"), ...user], { stdio: "ignore" });
  onEnd(async () => {
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    await exited;
  });
  const origin = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(origin)).status > 0);
  return origin;
}

/** NGINX, then PATH, then a private unpacking of the distribution's package. */
async function findNginx(): Promise<string> {
  const cache = resolve(".cache/nginx");
  const unpacked = join(cache, "root/usr/sbin/nginx");
  for (const bin of [process.env.NGINX ?? "nginx", unpacked]) if (await runs(bin)) return bin;
  mkdirSync(cache, { recursive: true });
  await run("apt-get", ["download", "nginx"], { cwd: cache, timeout: 60_000 });
  for (const name of readdirSync(cache).filter((file) => file.endsWith(".deb")))
    await run("dpkg", ["-x", join(cache, name), join(cache, "root")]);
  if (existsSync(unpacked) && (await runs(unpacked))) return unpacked;
  throw new Error("there is no nginx");
}

async function runs(bin: string): Promise<boolean> {
  return run(bin, ["-v"]).then(
    () => true,
    () => false,
  );
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (typeof address !== "object" || !address) throw new Error("not listening");
  return address.port;
}

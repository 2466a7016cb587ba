import { findProgram, type Program } from "./debian-package.ts";

/** A redis-server: REDIS_SERVER, then PATH, then the distribution's package. Throws when this machine has none. */
export function findRedis(cache?: string): Promise<Program> {
  return findProgram({
    names: ["redis-server", "valkey-server"],
    variable: "REDIS_SERVER",
    debianPackage: "redis-server",
    path: "usr/bin/redis-server",
    ...(cache !== undefined && { cache }),
  });
}

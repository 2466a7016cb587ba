import { expect, test } from "vitest";
import { nameOfRedis, parseRedisUrl, redisAddress } from "../../../src/events/redis-address.ts";

test("one server, sentinels and a cluster, with credentials and TLS", () => {
  expect(parseRedisUrl("redis://127.0.0.1")).toMatchObject({
    ...{ kind: "server", nodes: [{ host: "127.0.0.1", port: 6379 }], isEncrypted: false },
  });
  expect(parseRedisUrl("rediss://u%40:p%2F:1@[::1]:7000/3")).toMatchObject({
    ...{
      nodes: [{ host: "::1", port: 7000 }],
      username: "u@",
      password: "p/:1",
      database: 3,
      isEncrypted: true,
    },
  });
  expect(parseRedisUrl("redis+sentinel://:secret@a,b:1/mymaster")).toEqual({
    ...{ kind: "sentinel", master: "mymaster", password: "secret", isEncrypted: false },
    nodes: [
      { host: "a", port: 26379 },
      { host: "b", port: 1 },
    ],
  });
  const cluster = parseRedisUrl("rediss+cluster://:secret@a,b:1");
  expect(cluster).toMatchObject({ kind: "cluster", isEncrypted: true, password: "secret" });
  expect(nameOfRedis(cluster)).toBe("a:6379,b:1");
  expect(nameOfRedis(parseRedisUrl("redis+sentinel://[::1],b/m"))).toBe("[::1]:26379,b:26379/m");
});

test.each([
  ["redis://a,b", /^several hosts need/],
  ["redis+sentinel://a,b", /^the path must be the name of the master/],
  ["redis+cluster://a/1", /^a cluster has no path/],
  ["redis://a/x", /^the path must be a database number/],
  ["redis://a?tls=false", /^must be redis:\/\//],
  ["redis+cluster://a,,b", /^an empty host is not a host/],
  ["redis://a:99999", /^a:99999 is not a host and a port/],
  [`redis+cluster://${Array(17).fill("a")}`, /^must be redis:\/\//],
  ["http://a", /^must be redis:\/\//],
])("%s is refused with the part that is wrong", (url, why) => {
  expect(() => parseRedisUrl(url)).toThrow(why);
});

test("a file of authorities that cannot be read is named", () => {
  expect(() => redisAddress("rediss://a", { caFile: "missing.pem" })).toThrow(
    /^REDIS_CA_FILE: missing\.pem cannot be read \(ENOENT\)/,
  );
});

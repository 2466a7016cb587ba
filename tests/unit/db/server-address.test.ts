import type { ConnectionOptions, PeerCertificate } from "node:tls";
import { expect, test } from "vitest";
import { openDatabase } from "../../../src/db/open.ts";
import { serverAddress } from "../../../src/db/server/server-address.ts";

test("every part of the address is used, given in the URL or as a parameter", () => {
  expect(
    serverAddress("postgresql://u%40:p%2F@db.example.com:6543/my%20db?application_name=zg"),
  ).toMatchObject({
    ...{ host: "db.example.com", port: 6543, user: "u@", password: "p/", database: "my db" },
    application_name: "zg",
  });
  const parameters =
    "host=/run/postgresql&port=6000&user=u&password=p&dbname=d&options=-c%20work_mem%3D8MB&connect_timeout=7&keepalives_idle=30";
  expect(serverAddress(`postgres:///?${parameters}`)).toMatchObject({
    ...{ host: "/run/postgresql", port: 6000, user: "u", password: "p", database: "d" },
    ...{ options: "-c work_mem=8MB", connectionTimeoutMillis: 7_000, keepAliveInitialDelayMillis: 30_000 },
  });
  expect(serverAddress("postgres://[::1]/d")).toMatchObject({ host: "::1", port: 5432 });
  expect(serverAddress("postgres://u:p@/d?host=/cloudsql/project:region:name")).toMatchObject({
    ...{ host: "/cloudsql/project:region:name", user: "u", password: "p", database: "d" },
  });
  // As for psql and pg_dump, which are given the same address.
  expect(serverAddress("postgres://h/d?user=me@realm&password=a+b%20c")).toMatchObject({
    ...{ host: "h", user: "me@realm", password: "a+b c" },
  });
});

test("a password with special characters that are not encoded becomes no host, port or database, and is not repeated", () => {
  for (const password of ["p@12", "12/p", "p@1/2", "12?p", "p@a,p", "12#p"])
    for (const hosts of ["h", "h:5432,i"])
      expect(() => serverAddress(`postgres://user:${password}@${hosts}/d`)).toThrow(
        /^must be a PostgreSQL URL, with special characters percent-encoded$/,
      );
});

test("several hosts are tried in the order of the list, each with its port and the checks of its own name", () => {
  const hostsOf = (url: string) => serverAddress(url).hosts?.all.map(({ host, port }) => `${host}:${port}`);
  expect(hostsOf("postgres://u:p@a.example:1,b.example,[::1]:3/d")).toEqual([
    ...["a.example:1", "b.example:5432", "::1:3"],
  ]);
  expect(hostsOf("postgres:///d?host=a,b&port=6000")).toEqual(["a:6000", "b:6000"]);
  expect(hostsOf("postgres:///d?host=a,/run/postgresql&port=1,")).toEqual(["a:1", "/run/postgresql:5432"]);
  expect(serverAddress("postgres://u:p@a:1,b:2/d")).toMatchObject({
    user: "u",
    password: "p",
    database: "d",
  });

  const { hosts } = serverAddress("postgres://a,b/d?sslmode=verify-full");
  const [, other] = hosts?.all ?? [];
  const certificate = { subject: { CN: "a" }, subjectaltname: "DNS:a" } as PeerCertificate;
  const { checkServerIdentity } = (other?.ssl ?? {}) as ConnectionOptions;
  expect(checkServerIdentity?.("a", certificate)?.message).toMatch(/Host: b\. is not in the cert/);
  expect(checkServerIdentity?.("a", { ...certificate, subjectaltname: "DNS:b" })).toBeUndefined();
});

test("a single host may be read-only unless the address asks for one that accepts writes", () => {
  const targetOf = (query: string) => serverAddress(`postgres://h/d?${query}`).hosts?.target;
  expect(targetOf("")).toBeUndefined();
  expect(targetOf("target_session_attrs=any")).toBeUndefined();
  expect(targetOf("target_session_attrs=read-write")).toBe("read-write");
  expect(serverAddress("postgres://a,b/d").hosts?.target).toBe("read-write");
  expect(serverAddress("postgres://a,b/d", "replica").hosts?.target).toBe("any");
  expect(() => serverAddress("postgres://a/d?target_session_attrs=primary", "replica")).toThrow(
    /^parameter target_session_attrs: must be any or standby/,
  );
});

test("sslmode means what it means in libpq: certificates are never verified less strictly than requested", () => {
  const ssl = (query: string) => serverAddress(`postgres://h/d?${query}`).ssl;
  expect(ssl("")).toBeUndefined();
  expect(ssl("sslmode=disable")).toBe(false);
  expect(ssl("sslmode=require")).toMatchObject({ rejectUnauthorized: false });
  expect(ssl("ssl=true")).toMatchObject({ rejectUnauthorized: false });
  expect(ssl("sslmode=require&sslrootcert=package.json")).toMatchObject({ rejectUnauthorized: true });
  expect(ssl("sslmode=verify-full&sslrootcert=system")).toMatchObject({ ca: expect.any(Array) });
});

test.each([
  ["postgres://a,,b/d", /^parameter host: must name 1 to 16 hosts/],
  ["postgres:///d?host=a,", /^parameter host: must name 1 to 16 hosts/],
  [`postgres://${Array(17).fill("a")}/d`, /^parameter host: must name 1 to 16 hosts/],
  ["postgres:///d?host=a,b,c&port=1,2", /^parameter port: must be one port for all hosts, or one for each/],
  [
    "postgres://a,b/d?target_session_attrs=any",
    /^parameter target_session_attrs: must be read-write or primary/,
  ],
  ["postgres://a,b/d?target_session_attrs=prefer-standby", /^parameter target_session_attrs: /],
  ["postgres:///d?host=h,/run&sslmode=require", /^parameter sslmode: require is not possible/],
  ["postgres://h/d?sslmode=prefer", /^parameter sslmode: must be disable, require/],
  ["postgres://h/d?sslmode=verify-full&sslmode=disable", /^parameter sslmode: is given twice/],
  ["postgres://h/d?sslmode=verify-ca", /^parameter sslmode: verify-ca needs sslrootcert/],
  ["postgres://h/d?sslrootcert=ca.pem", /^parameter sslrootcert: needs sslmode/],
  ["postgres://h/d?sslmode=require&sslrootcert=system", /^parameter sslrootcert: system needs/],
  ["postgres://h/d?sslmode=require&sslcert=a", /^parameter sslcert: and sslkey need each other/],
  ["postgres:///d?host=/run&sslmode=require", /^parameter sslmode: require is not possible/],
  ["postgres://h/d?ssl=true&sslmode=disable", /^parameter ssl: contradicts/],
  ["postgres://h/d?channel_binding=require", /^parameter channel_binding: must be/],
  ["postgres://h/d?sslcrl=a", /^parameter sslcrl: is not a supported/],
  [
    "postgres://h/d?target_session_attrs=standby",
    /^parameter target_session_attrs: must be read-write or primary/,
  ],
  ["postgres://h/d?connect_timeout=0", /^parameter connect_timeout: must be 1 to 60/],
  ["postgres://u:a#b@h/d", /^must be a PostgreSQL URL/],
  ["postgres://u:%zz@h/d", /^the password must be percent-encoded/],
  ["postgres://h", /^parameter dbname: is missing/],
  ["mysql://h/d", /^must be a PostgreSQL URL/],
])("%s is refused, and the unsupported part is named", (url, why) => {
  expect(() => serverAddress(url)).toThrow(why);
});

test("a certificate file that cannot be read is named in the error", () => {
  expect(() => serverAddress("postgres://h/d?sslmode=verify-full&sslrootcert=missing.pem")).toThrow(
    /^DATABASE_URL: sslrootcert: missing\.pem cannot be read \(ENOENT\)/,
  );
});

test("a certificate of the replica that cannot be read is reported by the replica's setting, before anything is opened", async () => {
  const [url, replicaUrl] = ["", "?sslmode=verify-ca&sslrootcert=/nowhere.pem"].map(
    (end) => `postgresql://z@127.0.0.1:1/z${end}`,
  );
  await expect(openDatabase({ kind: "server", url: url ?? "", replicaUrl, poolSize: 2 })).rejects.toThrow(
    /^DATABASE_REPLICA_URL: sslrootcert: \/nowhere\.pem cannot be read \(ENOENT\)/,
  );
});

import { expect, test } from "vitest";
import { serverAddress } from "../../../src/db/server-address.ts";

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
  ["postgres://a:1,b:2/d", /^parameter host: several hosts/],
  ["postgres:///d?host=a,b", /^parameter host: several hosts/],
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
  ["postgres://h/d?target_session_attrs=read-write", /^parameter target_session_attrs: /],
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

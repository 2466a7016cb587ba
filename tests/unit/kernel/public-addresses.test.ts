import type { lookup } from "node:dns";
import { describe, expect, test } from "vitest";
import {
  faultOf,
  guardedLookup,
  isPublicAddress,
  publicConnector,
} from "../../../src/kernel/address-guard.ts";

const fault = (url: string) => faultOf(url, { allowsPrivate: false });

describe("the reason why a URL is rejected", () => {
  test.each([
    ["nonsense", "not a URL"],
    ["ftp://example.com", "another scheme than http and https"],
    ["https://user@example.com", "credentials in the URL"],
    ["https://:pass@example.com", "credentials in the URL"],
    ["https://example.com/?a=b", "a query or fragment in the URL"],
    ["https://example.com/#a", "a query or fragment in the URL"],
    ["http://example.com", "not https"],
    ["https://example.com:0", "port 0"],
    ["https://example.com:1023", "port 1023"],
    ["https://10.0.0.1", "not a public address"],
    ["https://[::1]", "not a public address"],
    ["https://[fe80::1]/", "not a public address"],
    ["https://localhost", "not a public name"],
    ["https://printer.local.", "not a public name"],
    ["https://router.home.arpa", "not a public name"],
    ["https://home.arpa", "not a public name"],
    ["https://intranet", "not a public name"],
  ])("%s: %s", (url, reason) => {
    expect(fault(url)).toBe(reason);
  });

  test.each([
    "https://example.com:1024",
    "https://example.com:80",
    "https://example.com:443",
    "https://example.com.",
    "https://localhost.example.com",
    "https://local.example.com",
    "https://mylocalhost.com",
    "https://homexarpa.com",
    "https://[2606:4700::1111]:8443/base",
  ])("%s is accepted", (url) => {
    expect(fault(url)).toBeUndefined();
  });
});

test.each([
  ["0.0.0.0", "0.255.255.255", "1.0.0.0"],
  ["10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"],
  ["100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"],
  ["127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"],
  ["169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"],
  ["172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"],
  ["192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"],
  ["192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"],
  ["192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"],
  ["192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"],
  ["198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"],
  ["198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"],
  ["203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"],
  ["224.0.0.0", "255.255.255.255", "223.255.255.255"],
  ["2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"],
  ["2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db7:ffff::", "2001:db9::"],
  ["2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:ffff::", "2003::"],
  ["3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3ffe:ffff::", "3fff:1000::"],
  ["4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:ffff::"],
  ["::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"],
])("the reserved range from %s to %s is not public, and its neighbours are", (first, last, ...neighbours) => {
  expect([first, last].map(isPublicAddress)).toEqual([false, false]);
  for (const neighbour of neighbours) expect(isPublicAddress(neighbour), neighbour).toBe(true);
});

test("an address with a zone is of this machine's links, and a name is no address", () => {
  for (const address of ["2606:4700::1111%eth0", "::ffff:8.8.8.8%1", "example.com", "", "8.8.8"])
    expect(isPublicAddress(address), address).toBe(false);
});

describe("a guarded lookup", () => {
  type Answer = readonly [error: Error | null, addresses?: readonly string[]];
  /** Looks a name up with a resolver that gives this answer, and returns all that the caller receives. */
  function look([error, answers = []]: Answer, options: object): { asked: object; received: unknown[] } {
    let asked = {};
    const resolve = (_name: string, given: object, done: (error: Error | null, found: object[]) => void) => {
      asked = given;
      done(
        error,
        answers.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
      );
    };
    const received: unknown[] = [];
    guardedLookup(resolve as unknown as typeof lookup)("a.example.com", options, (...given) =>
      received.push(...given),
    );
    return { asked, received };
  }

  test("asks for all addresses, whatever the caller asked for, so that none is left unchecked", () => {
    expect(look([null, ["1.1.1.1"]], { family: 4 }).asked).toEqual({ family: 4, all: true });
    expect(look([null, ["1.1.1.1"]], { all: false }).asked).toEqual({ all: true });
  });

  test("gives the first address to a caller that asked for one, and all to one that asked for all", () => {
    const answers = ["1.1.1.1", "2606:4700::1111"];
    expect(look([null, answers], {}).received).toEqual([null, "1.1.1.1", 4]);
    expect(look([null, answers], { all: true }).received).toEqual([
      null,
      [
        { address: "1.1.1.1", family: 4 },
        { address: "2606:4700::1111", family: 6 },
      ],
    ]);
  });

  test("gives no address after an error, or if any address is not public", () => {
    const failed = new Error("no such name");
    expect(look([failed, ["1.1.1.1"]], {}).received).toEqual([failed, "", 0]);
    for (const options of [{}, { all: true }]) {
      const [error, ...rest] = look([null, ["1.1.1.1", "10.0.0.1"]], options).received;
      expect(error).toMatchObject({
        name: "ForbiddenAddress",
        message: expect.stringContaining("a.example.com"),
      });
      expect(rest).toEqual(["", 0]);
    }
  });
});

test.each(["127.0.0.1", "[::1]", "[fe80::1]", "10.0.0.1"])(
  "a connection to the address %s fails before it begins",
  async (hostname) => {
    const connect = publicConnector(1_000, undefined);
    const target = { hostname, protocol: "https:", port: "9" };
    const error = await new Promise((done) =>
      connect(target as never, (failure, socket) => done(failure ?? socket)),
    );
    expect(error).toMatchObject({ name: "ForbiddenAddress" });
    expect(String(error)).toContain(`${hostname.replace(/[[\]]/g, "")} is not a public address`);
  },
);

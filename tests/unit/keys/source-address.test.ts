import { describe, expect, test } from "vitest";
import {
  isAddressRange,
  normaliseAddress,
  sourceAddress,
  trustedProxies,
} from "../../../src/keys/auth/source-address.ts";

describe("an address has one spelling", () => {
  test.each([
    ["1.2.3.4", "1.2.3.4"],
    ["::ffff:1.2.3.4", "1.2.3.4"],
    ["::FFFF:0102:0304", "1.2.3.4"],
    ["0:0:0:0:0:ffff:102:304", "1.2.3.4"],
    ["::ffff:1.2.3.4%eth0", "1.2.3.4"],
    ["::ffff:0:0", "0.0.0.0"],
    ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
    ["2001:db8::0001", "2001:db8::1"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["2001:0:0:1:0:0:0:1", "2001:0:0:1::1"],
    ["fe80::1%en0", "fe80::1"],
    ["::1", "::1"],
    ["::", "::"],
  ])("%s is %s", (text, spelling) => {
    expect(normaliseAddress(text)).toBe(spelling);
  });

  test.each([
    "",
    " ",
    "1.2.3",
    "1.2.3.256",
    "01.2.3.4",
    "0x7f.1",
    "2130706433",
    "1.2.3.4:80",
    "[::1]",
    "::1::",
    "12345::",
    "unknown",
    "_hidden",
    "localhost",
    "1.2.3.4\n",
    "١.٢.٣.٤",
  ])("%j is not an address", (text) => {
    expect(normaliseAddress(text)).toBeUndefined();
  });
});

describe("the source of a request", () => {
  const trusted = trustedProxies(["10.0.0.0/8", "192.0.2.7", "2001:db8:1::/48"]);
  const from = (peer: string | undefined, forwardedFor?: string | readonly string[]) =>
    sourceAddress({ peer, forwardedFor }, trusted);

  test("is the peer of the socket, whatever an untrusted header claims", () => {
    expect(from("203.0.113.5", "1.1.1.1")).toBe("203.0.113.5");
    expect(from("::ffff:203.0.113.5", "10.0.0.1, 1.1.1.1")).toBe("203.0.113.5");
    expect(from("192.0.2.8", "1.1.1.1")).toBe("192.0.2.8");
    expect(sourceAddress({ peer: "127.0.0.1", forwardedFor: "1.1.1.1" }, trustedProxies([]))).toBe(
      "127.0.0.1",
    );
  });

  test("is, behind a trusted proxy, the right-most entry that is not a trusted proxy", () => {
    expect(from("10.1.2.3", "198.51.100.9")).toBe("198.51.100.9");
    expect(from("::ffff:10.1.2.3", "6.6.6.6, 198.51.100.9, 10.9.9.9")).toBe("198.51.100.9");
    expect(from("192.0.2.7", "6.6.6.6,198.51.100.9 , ::ffff:192.0.2.7")).toBe("198.51.100.9");
    expect(from("2001:db8:1::5", "2001:DB8::0009")).toBe("2001:db8::9");
    expect(from("10.0.0.1", ["6.6.6.6", "198.51.100.9"])).toBe("198.51.100.9");
    expect(from("10.0.0.1", "198.51.100.9:4711")).toBe("198.51.100.9");
    expect(from("10.0.0.1", "[2001:db8::9]:4711")).toBe("2001:db8::9");
  });

  test("is the outermost trusted proxy when all entries are trusted proxies", () => {
    expect(from("10.0.0.1", "10.0.0.3, 10.0.0.2")).toBe("10.0.0.3");
  });

  test("is the peer of the socket when an entry that counts is malformed", () => {
    for (const garbage of [
      "unknown",
      "",
      "evil, 10.0.0.2",
      "1.1.1.1, , 10.0.0.2",
      "<script>",
      "1.1.1.1;2.2.2.2",
    ])
      expect(from("10.0.0.1", garbage), garbage).toBe("10.0.0.1");
    expect(from("10.0.0.1", "garbage, 198.51.100.9")).toBe("198.51.100.9");
  });

  test("is found in a list of any length", () => {
    const spoofed = Array.from({ length: 5_000 }, (_, at) => `6.6.${at >> 8}.${at & 255}`);
    expect(from("10.0.0.1", [...spoofed, "198.51.100.9"].join(", "))).toBe("198.51.100.9");
    expect(from("10.0.0.1", Array(60).fill("10.0.0.2").join(","))).toBe("10.0.0.2");
  });

  test("is unknown when the socket is closed", () => {
    expect(from(undefined, "1.1.1.1")).toBeUndefined();
  });
});

test("proxies are named by address or CIDR range", () => {
  for (const good of ["10.0.0.0/8", "192.0.2.7", "::1", "2001:db8::/32", "0.0.0.0/0"])
    expect(isAddressRange(good), good).toBe(true);
  for (const bad of [
    "",
    "10.0.0.0/33",
    "10.0.0/8",
    "::1/129",
    "host",
    "10.0.0.0/8/8",
    "::ffff:10.0.0.0/104",
    "10.0.0.0/-1",
  ])
    expect(isAddressRange(bad), bad).toBe(false);
  expect(() => trustedProxies(["host"])).toThrow("host");
});

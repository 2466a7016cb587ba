import { describe, expect, test } from "vitest";
import { readSignInMessage } from "../../../src/keys/sessions/sign-in-message.ts";
import { signInOrigins } from "../../../src/keys/sessions/sign-in-origins.ts";
import { type SignInFields, signInText } from "../../support/chain/sign-in.ts";

// The cases follow the classes of the standard reference library's test vectors, with data of our own.
const ADDRESS = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
const NOW = new Date("2026-05-04T10:00:00Z");
const GOOD = {
  domain: "router.example",
  address: ADDRESS,
  statement: "Sign in to look after your keys.",
  uri: "https://router.example/settings",
  version: "1",
  chainId: 16_602,
  nonce: "Qx7rT2mbLw90",
  issuedAt: "2026-05-04T09:59:30.250Z",
} as const satisfies SignInFields;

const places = signInOrigins({
  origins: [
    "https://router.example",
    "http://127.0.0.1:8080",
    "https://[2001:db8::7]:8443",
    "https://127.0.0.1",
  ],
  chainId: 16_602,
  isDevnet: false,
});

const read = (fields: SignInFields, now = NOW) =>
  readSignInMessage(signInText({ ...GOOD, ...fields }), places, now);
const readText = (change: (text: string) => string) =>
  readSignInMessage(change(signInText(GOOD)), places, NOW);

describe("a sign-in message is read", () => {
  test.each<[string, SignInFields]>([
    ["with the required fields only", {}],
    ["without a statement", { statement: undefined }],
    ["with an empty statement", { statement: "" }],
    [
      "with a statement of URLs and punctuation",
      { statement: "I accept: https://router.example/tos?a=1&b=[2]#c!" },
    ],
    ["without fractions of a second", { issuedAt: "2026-05-04T09:59:30Z" }],
    ["with nine digits of a second", { issuedAt: "2026-05-04T09:59:30.123456789Z" }],
    ["with an offset from UTC", { issuedAt: "2026-05-04T11:59:30+02:00" }],
    ["with the letters of a date in lower case", { issuedAt: "2026-05-04t09:59:30z" }],
    ["with a scheme", { scheme: "https" }],
    ["for a domain that is an IP address", { domain: "127.0.0.1", uri: "https://127.0.0.1/" }],
    ["for a domain with a port", { domain: "127.0.0.1:8080", uri: "http://127.0.0.1:8080" }],
    [
      "for a domain that is an IPv6 address with a port",
      {
        domain: "[2001:db8::7]:8443",
        uri: "https://[2001:db8::7]:8443/x",
      },
    ],
    ["with a URI that has a query and a fragment", { uri: "https://router.example/a?b=c#d" }],
    [
      "with resources",
      { resources: ["ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3", "https://claims.example/1.json"] },
    ],
    ["with no resource in its list", { resources: [] }],
    ["with a request id", { requestId: "some-id_1.2~3%20!$&'()*+,;=:@" }],
    ["with an empty request id", { requestId: "" }],
    [
      "with all optional fields",
      {
        expirationTime: "2026-05-04T10:10:00Z",
        notBefore: "2026-05-04T09:00:00Z",
        requestId: "7",
        resources: ["https://claims.example/"],
      },
    ],
    ["with an expiry in the future", { expirationTime: "2026-05-04T10:00:00.001Z" }],
    ["from its notBefore time on", { notBefore: "2026-05-04T10:00:00Z" }],
    ["within 60 s of skew", { issuedAt: "2026-05-04T10:01:00Z" }],
    ["on the 29th of February of a leap year", { notBefore: "2024-02-29T00:00:00Z" }],
    ["with a nonce of eight characters", { nonce: "aB3dE6g8" }],
  ])("%s", (_, fields) => {
    expect(read(fields)).toEqual({ address: ADDRESS, nonce: fields.nonce ?? GOOD.nonce });
  });

  test("of the past at the clock of that time", () => {
    const fields = { issuedAt: "2020-01-01T00:00:00Z", expirationTime: "2021-01-05T00:00:00Z" };
    expect(read(fields, new Date("2020-06-01T00:00:00Z"))).toMatchObject({ address: ADDRESS });
  });

  test("of the future at the clock of that time", () => {
    const fields = { notBefore: "2100-01-07T14:31:43.952Z" };
    expect(read(fields, new Date("2101-01-07T14:31:43.952Z"))).toMatchObject({ address: ADDRESS });
  });
});

describe("a sign-in message is refused", () => {
  const refusal = { code: "sign_in_refused", status: 401 };

  test.each<[string, SignInFields]>([
    ["without a domain", { domain: "" }],
    ["without an address", { address: "" }],
    ["without a URI", { uri: undefined }],
    ["without a version", { version: undefined }],
    ["without a chain id", { chainId: undefined }],
    ["without a nonce", { nonce: undefined }],
    ["without an issue time", { issuedAt: undefined }],
    ["with another version", { version: "2" }],
    ["with a version that only begins with 1", { version: "10" }],
    ["with an address in lower case", { address: ADDRESS.toLowerCase() }],
    ["with an address in upper case", { address: `0x${ADDRESS.slice(2).toUpperCase()}` }],
    ["with one letter of the checksum wrong", { address: ADDRESS.replace("0x90F", "0x90f") }],
    ["with a short address", { address: ADDRESS.slice(0, -1) }],
    ["with a long address", { address: `${ADDRESS}0` }],
    ["with an invalid domain", { domain: "#router.example" }],
    ["with a domain and a path", { domain: "router.example/login" }],
    ["with an invalid URI", { uri: ":not_a_uri_" }],
    ["with a chain id that is not a number", { chainId: "?" }],
    ["with a chain id in hexadecimal", { chainId: "0x40da" }],
    ["with a negative chain id", { chainId: "-16602" }],
    ["with a nonce of seven characters", { nonce: "1234567" }],
    ["with a nonce of other characters", { nonce: "abc-12345678" }],
    ["with an issue time that is not ISO 8601", { issuedAt: "Mon May 04 2026 10:00:00 GMT+0200 (CEST)" }],
    ["with an expiry that is not ISO 8601", { expirationTime: "Mon May 04 2026 12:00:00 GMT+0200 (CEST)" }],
    ["with a notBefore time that is not ISO 8601", { notBefore: "Mon May 04 2026 09:00:00 GMT+0200 (CEST)" }],
    ["with a date without a zone", { issuedAt: "2026-05-04T09:59:30" }],
    ["with a day and no time", { issuedAt: "2026-05-04" }],
    ["on the 31st of February", { expirationTime: "2100-02-31T00:00:00Z" }],
    ["on the 29th of February outside a leap year", { notBefore: "2025-02-29T00:00:00Z" }],
    ["in a thirteenth month", { issuedAt: "2025-13-01T00:00:00Z" }],
    ["in a twenty-fifth hour", { issuedAt: "2026-05-04T24:00:00Z" }],
    ["with an invalid first resource", { resources: [":not_a_uri_", "https://router.example/"] }],
    ["with an invalid second resource", { resources: ["https://router.example/", ":not_a_uri_"] }],
    ["with a statement of two lines", { statement: "One line.\nAnd another." }],
    ["with a statement beyond ASCII", { statement: "Anmeldung f\u00fcr alle" }],
    ["for another domain", { domain: "evil.example" }],
    ["for a domain that has ours as a prefix", { domain: "router.example.evil.example" }],
    ["for a domain with a user in front", { domain: "router.example@evil.example" }],
    ["for our domain with a user in front", { domain: "someone@router.example" }],
    ["for our domain on another port", { domain: "router.example:8443" }],
    ["for our domain in capitals", { domain: "ROUTER.example" }],
    ["for our domain by another scheme", { scheme: "http" }],
    ["for another site's URI", { uri: "https://evil.example/" }],
    ["for a URI by another scheme", { uri: "http://router.example/" }],
    ["for a URI with a user", { uri: "https://router.example@evil.example/" }],
    ["for our URI with a user", { uri: "https://someone@router.example/" }],
    ["for a URI without an origin", { uri: "urn:example:router" }],
    ["for another chain", { chainId: 1 }],
    ["after its expiry", { expirationTime: "2026-05-04T09:59:59.999Z" }],
    ["at its expiry", { expirationTime: "2026-05-04T10:00:00Z" }],
    ["with an expiry in another zone that has passed", { expirationTime: "2026-05-04T11:00:00+02:00" }],
    ["before its notBefore time", { notBefore: "2026-05-04T10:00:00.001Z" }],
    ["with a notBefore time in the next century", { notBefore: "2100-01-07T14:31:43.952Z" }],
    ["when it is issued 61 s ahead", { issuedAt: "2026-05-04T10:01:01Z" }],
    ["when it is longer than 4,096 characters", { statement: "a".repeat(4_096) }],
  ])("%s", (_, fields) => {
    expect(() => read(fields)).toThrow(expect.objectContaining(refusal));
  });

  test.each<[string, (text: string) => string]>([
    ["with an empty line too many", (text) => text.replace("\n\nSign", "\n\n\nSign")],
    ["with an empty line too few", (text) => text.replace("keys.\n\n", "keys.\n")],
    ["with its fields in another order", (text) => text.replace(/(Version: 1)\n(Chain ID: \d+)/, "$2\n$1")],
    ["with a duplicate field", (text) => text.replace(/(Nonce: .*)/, "$1\n$1")],
    ["with an additional field", (text) => text.replace(/(Nonce: .*)/, "$1\nRole: admin")],
    ["with Windows' line ends", (text) => text.replaceAll("\n", "\r\n")],
    ["with a trailing line end", (text) => `${text}\n`],
    ["with a leading space", (text) => ` ${text}`],
    ["with a different wording", (text) => text.replace("wants you to sign in", "would like you to sign in")],
    ["with a field name in lower case", (text) => text.replace("Nonce:", "nonce:")],
    ["with two spaces after a field name", (text) => text.replace("Nonce: ", "Nonce:  ")],
    ["with trailing text", (text) => `${text}\nResources:\n- https://a.example\nmore`],
    ["as an empty text", () => ""],
    ["as an unrelated text", () => "I owe you nothing."],
  ])("%s", (_, change) => {
    expect(() => readText(change)).toThrow(expect.objectContaining(refusal));
  });
});

describe("without a list of allowed origins", () => {
  const at = (isDevnet: boolean, domain: string, uri: string) => () =>
    readSignInMessage(
      signInText({ ...GOOD, domain, uri }),
      signInOrigins({ origins: undefined, chainId: 16_602, isDevnet }),
      NOW,
    );

  test("a development network accepts every page of this machine, and no other", () => {
    for (const host of ["localhost:5173", "127.0.0.1:4000", "[::1]:3000", "localhost", "app.localhost:3000"])
      for (const scheme of ["http", "https"])
        expect(at(true, host, `${scheme}://${host}/`), host).not.toThrow();
    for (const host of ["evil.example", "localhost.evil.example", "192.168.1.7:4000", "127.0.0.2"])
      expect(at(true, host, `http://${host}/`), host).toThrow("refused");
    expect(at(true, "localhost:5173", "https://evil.example/")).toThrow("refused");
  });

  test("a real network accepts none", () => {
    expect(at(false, "localhost:5173", "http://localhost:5173/")).toThrow("refused");
    expect(at(false, "router.example", "https://router.example/")).toThrow("refused");
  });
});

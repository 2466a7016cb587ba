import { lookup as systemLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { buildConnector } from "undici";

/**
 * Why the URL of a provider, or of another server that others name, is rejected; undefined for a valid one (promises
 * F23).
 */
export function faultOf(
  url: string,
  { allowsPrivate, allowsQuery = false }: { readonly allowsPrivate: boolean; readonly allowsQuery?: boolean },
): string | undefined {
  const parsed = URL.parse(url);
  if (parsed === null) return "not a URL";
  const { protocol, hostname, port, username, password } = parsed;
  // It is not repeated: of a URL without a scheme, it is the user.
  if (protocol !== "https:" && protocol !== "http:") return "another scheme than http and https";
  if (username !== "" || password !== "") return "credentials in the URL";
  // Of an empty query or fragment, only the text keeps its sign.
  if (allowsQuery && url.includes("#")) return "a fragment in the URL";
  if (!allowsQuery && /[?#]/.test(url)) return "a query or fragment in the URL";
  if (allowsPrivate) return undefined;
  if (protocol === "http:") return "not https";
  // Of https, port 443 is shown as none.
  if (port !== "" && Number(port) < 1_024 && port !== "80") return `port ${port}`;
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (isIP(host) !== 0) return isPublicAddress(host) ? undefined : "not a public address";
  return /(^|\.)(localhost|local|internal|home\.arpa)$/.test(host) || !host.includes(".")
    ? "not a public name"
    : undefined;
}

/** Whether an IP address is public: not of this machine, a private network, or a reserved range. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !PRIVATE.check(address, "ipv4");
  if (family !== 6 || address.includes("%")) return false;
  return isGlobalUnicast(address) ? !PRIVATE.check(address, "ipv6") : isPublicMapped(address);
}

/** A provider's name resolved to an address that is not allowed. */
export class ForbiddenAddress extends Error {
  override readonly name = "ForbiddenAddress";
}

/**
 * Resolves a name for a connection and rejects it if any of its addresses is not public. The connection uses the
 * checked addresses, so a DNS change in between (rebinding) has no effect (promises F24).
 */
export function guardedLookup(resolve: typeof systemLookup = systemLookup): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return void done(error, "", 0);
      const [first] = addresses;
      if (!first || !addresses.every(({ address }) => isPublicAddress(address)))
        return void done(
          new ForbiddenAddress(`${hostname} resolves to an address that is not public`),
          "",
          0,
        );
      if (options.all) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
}

/**
 * Connects to public addresses only, within `timeoutMs`. An address in the URL is never resolved, so it is checked
 * here.
 */
export function publicConnector(
  timeoutMs: number,
  resolve: typeof systemLookup | undefined,
  more: Pick<buildConnector.BuildOptions, "maxCachedSessions"> = {},
): buildConnector.connector {
  const options = { ...more, timeout: timeoutMs, lookup: guardedLookup(resolve) };
  const connect = buildConnector(options as buildConnector.BuildOptions);
  return (target, done) => {
    const host = target.hostname.replace(/^\[|\]$/g, "");
    if (isIP(host) !== 0 && !isPublicAddress(host))
      return void done(new ForbiddenAddress(`${host} is not a public address`), null);
    connect(target, done);
  };
}

function isGlobalUnicast(address: string): boolean {
  return GLOBAL.check(address, "ipv6");
}

/** `::ffff:0:0/96`, an IPv4-mapped IPv6 address. */
function isPublicMapped(address: string): boolean {
  return MAPPED.check(address, "ipv6") && !PRIVATE.check(address, "ipv6");
}

const GLOBAL = new BlockList();
GLOBAL.addSubnet("2000::", 3, "ipv6");

const MAPPED = new BlockList();
MAPPED.addSubnet("::ffff:0:0", 96, "ipv6");

const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const)
  PRIVATE.addSubnet(network, prefix, "ipv4");
for (const [network, prefix] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const)
  PRIVATE.addSubnet(network, prefix, "ipv6");

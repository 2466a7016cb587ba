import { z } from "zod";
import { MAX_AGENT_CONTRACTS, parseAgentContract } from "../chain/agents/contracts/agent-contracts.ts";
import { parseMarketContract } from "../chain/market/market-contract.ts";
import { parseServerUrl, type ServerUse } from "../db/server/server-url.ts";
import { parseRedisUrl } from "../events/redis-address.ts";
import { readUsd } from "../inference/routing/routing-preferences.ts";
import { type Hex, lowerHex } from "../kernel/text/hex.ts";
import { isAddressRange } from "../keys/auth/source-address.ts";

/** One setting: its schema, and its purpose and an example for the documentation. */
export type Setting = {
  readonly schema: z.ZodType;
  readonly about: string;
  readonly example: string;
  /** Whether it may contain a secret: it may then be in a file, which `<name>_FILE` names. */
  readonly isSecret?: boolean;
  /**
   * Whether an empty file means that the secret is unset: deployments name the files of optional secrets in advance. An
   * empty file of another secret is refused: the process would use other data, or could not work.
   */
  readonly mayBeEmpty?: boolean;
};

/** Settings by the names of their environment variables. */
export type Settings = Readonly<Record<string, Setting>>;

/** A port; 0 picks a free one. */
export const port = z.coerce.number().int().min(0).max(65_535);
/** Milliseconds, at most an hour. */
export const ms = z.coerce.number().int().min(1).max(3_600_000);
/** Requests a minute; 0 for no limit. */
export const requestsPerMinute = z.coerce.number().int().min(0).max(1_000_000_000);
/** An http(s) URL. */
export const httpUrl = z.url({ protocol: /^https?$/, abort: true });
/** An http(s) URL to which paths are appended, without the slashes at its end. */
export const baseUrl = httpUrl
  .refine((text) => {
    const { username, password } = new URL(text);
    // Of an empty query or fragment, only the text keeps its sign.
    return username === "" && password === "" && !/[?#]/.test(text);
  }, "must be a URL without a query, a fragment or a password")
  .transform((text) => text.replace(/\/+$/, ""));
/** The URL of a PostgreSQL server, all of whose parameters are supported. */
export const databaseUrl = (use: ServerUse) =>
  z.string().superRefine((text, context) => {
    try {
      parseServerUrl(text, use);
    } catch (error) {
      context.addIssue((error as Error).message);
    }
  });
/** The URL of a Redis server, of sentinels or of a cluster. */
export const redisUrl = z.string().superRefine((text, context) => {
  try {
    parseRedisUrl(text);
  } catch (error) {
    context.addIssue((error as Error).message);
  }
});
/** An address in any letter case. */
export const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/, "must be an address");
/** 32 bytes, each combination of which is a key: the seed of an Ed25519 key, or a key of AES-256. */
export const key32Bytes = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, { message: "must be 0x and 64 hexadecimal digits", abort: true });
/** The number of points of the curve secp256k1 (SEC 2, section 2.4.1). */
const SECP256K1_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
/** A private key of the curve secp256k1, that of Ethereum's wallets. */
export const secp256k1Key = key32Bytes.refine(
  (text) => BigInt(text) > 0n && BigInt(text) < SECP256K1_ORDER,
  "must be a private key of the curve secp256k1, which is neither zero nor above the order of the curve",
);
const list = z.string().transform((text) => text.split(",").map((part) => part.trim()));
/** URLs, separated by commas. */
export const urls = list.pipe(z.array(httpUrl).min(1));
/** URLs to which paths are appended, separated by commas. */
export const baseUrls = list.pipe(z.array(baseUrl).min(1));
/** Origins of web pages, separated by commas. */
export const origins = list.pipe(
  z
    .array(httpUrl.refine((text) => /^https?:\/\/[^/?#@]+\/?$/i.test(text), "must be a scheme and a host"))
    .min(1),
);
/** Addresses in any letter case, separated by commas. */
export const addresses = list.pipe(z.array(address).min(1));
/** IP addresses or CIDR ranges, separated by commas. */
export const addressRanges = list.pipe(
  z.array(z.string().refine(isAddressRange, "must be IP addresses or CIDR ranges")).min(1),
);

/** Alphanumeric words, separated by commas. */
export const words = list.pipe(
  z.array(z.string().regex(/^[A-Za-z0-9]{1,32}$/, "must be words of letters and digits")).min(1),
);
/** Agent token contracts with their generation and first block, separated by commas. */
export const agentContracts = list.pipe(
  z
    .array(
      z.string().transform((text, context) => {
        const contract = parseAgentContract(text);
        if (contract) return contract;
        context.addIssue("must be contracts such as agent-nft:0x...@1000, agentic-id:0x...@1000");
        return z.NEVER;
      }),
    )
    .max(MAX_AGENT_CONTRACTS, `must be at most ${MAX_AGENT_CONTRACTS} contracts`)
    // Two readers of one contract would share its position, so that each would skip what only the other one reads.
    .refine(
      (contracts) => new Set(contracts.map((contract) => contract?.address)).size === contracts.length,
      "must be different contracts",
    ),
);
/** An agent token market, the token contract that it trades, and its first block. */
export const marketContract = z.string().transform((text, context) => {
  const contract = parseMarketContract(text);
  if (contract) return contract;
  context.addIssue("must be a market and the token it trades, such as 0x.../0x...@1000");
  return z.NEVER;
});
/** The key-value streams to follow: ids separated by commas, or `all` or `none`. */
export const streamIds = z
  .string()
  .refine(
    (text) => text === "all" || text === "none" || /^0x[0-9a-fA-F]{64}(,0x[0-9a-fA-F]{64})*$/.test(text),
    {
      message: "must be all, none, or stream ids separated by commas",
    },
  )
  .transform((text): "all" | readonly Hex[] =>
    text === "all" ? text : text === "none" ? [] : text.split(",").map(lowerHex),
  );
/** A price in dollars, or the URL that reports it. */
export const tokenUsd = z
  .string()
  .refine(
    (text) => readUsd(text) !== undefined || httpUrl.safeParse(text).success,
    "must be a decimal or a URL",
  );

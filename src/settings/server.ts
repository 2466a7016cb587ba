import { z } from "zod";
import { addressRanges, baseUrl, ms, origins, port, requestsPerMinute, type Settings } from "./values.ts";

/** Listening, and what is accepted from clients. */
export const LISTENING_SETTINGS = {
  HOST: {
    schema: z.string().min(1).default("127.0.0.1"),
    about: "The address to listen on",
    example: "127.0.0.1",
  },
  PUBLIC_URL: {
    schema: baseUrl.optional(),
    about:
      "The URL at which clients reach this gateway, also used in the download URLs of storage clients; unset: HOST and PORT",
    example: "https://gateway.example.com",
  },
  PORT: { schema: port.default(4000), about: "The port of the gateway; 0 picks a free one", example: "4000" },
  BODY_MS: { schema: ms.default(30_000), about: "Deadline for receiving a request body", example: "30000" },
  UPLOAD_MS: {
    schema: ms.default(120_000),
    about:
      "Deadline for receiving a body that may be large: prompts, audio, uploaded images, batch files, JSON-RPC",
    example: "120000",
  },
  CORS_ORIGINS: {
    schema: origins.optional(),
    about:
      "The origins whose pages may read responses, separated by commas; unset: none (on devnet, those of this machine)",
    example: "https://app.example.com",
  },
  SIGN_IN_ORIGINS: {
    schema: origins.optional(),
    about:
      "The origins on which wallets may sign in, separated by commas; unset: none (on devnet, those of this machine)",
    example: "https://app.example.com",
  },
  TRUSTED_PROXIES: {
    schema: addressRanges.optional(),
    about:
      "Proxies in front of the gateway whose X-Forwarded-For is trusted: IP addresses or CIDR ranges, separated by commas; unset: none",
    example: "10.0.0.0/8,192.0.2.7",
  },
} as const satisfies Settings;

/** A product that runs as several processes. */
export const PROCESS_SETTINGS = {
  PROCESSES: {
    schema: z.union([z.literal("auto"), z.coerce.number().int().min(1).max(256)]).default(1),
    about:
      "How many processes serve the port of this command; they share one PostgreSQL and one Redis. auto: one per processor. The first process uses METRICS_PORT, and the others use the ports after it",
    example: "auto",
  },
  SUBGRAPH_PORT: {
    schema: port.default(4100),
    about: "The port of a subgraph that runs as a separate process; 0 picks a free one",
    example: "4101",
  },
  INTERNAL_SECRET: {
    schema: z.string().min(32, "must have 32 characters or more").optional(),
    about:
      "The secret that signs the caller's identity between gateway and subgraph processes. It must be the same in all of them",
    example: "a-secret-of-at-least-32-characters",
    isSecret: true,
  },
  INTERNAL_SECRET_ACCEPTED: {
    schema: z.string().min(32, "must have 32 characters or more").optional(),
    about:
      "A second secret that subgraph processes accept from gateways while INTERNAL_SECRET is being replaced (see docs/operations.md)",
    example: "another-secret-of-at-least-32-characters",
    isSecret: true,
    mayBeEmpty: true,
  },
  ACCOUNTS_URL: {
    schema: baseUrl.optional(),
    about: "The URL of the accounts subgraph's process",
    example: "http://127.0.0.1:4101",
  },
  INFERENCE_URL: {
    schema: baseUrl.optional(),
    about: "The URL of the inference subgraph's process",
    example: "http://127.0.0.1:4102",
  },
  STORAGE_URL: {
    schema: baseUrl.optional(),
    about: "The URL of the storage subgraph's process",
    example: "http://127.0.0.1:4103",
  },
  CHAIN_URL: {
    schema: baseUrl.optional(),
    about: "The URL of the chain subgraph's process",
    example: "http://127.0.0.1:4104",
  },
} as const satisfies Settings;

/** Rate limits. */
export const RATE_LIMIT_SETTINGS = {
  RATE_LIMIT_PER_KEY: {
    schema: requestsPerMinute.default(600_000),
    about: "Maximum requests per minute of one key or session; 0 for no limit",
    example: "6000",
  },
  RATE_LIMIT_PER_ADDRESS: {
    schema: requestsPerMinute.default(60_000),
    about:
      "Maximum requests per minute without a credential from one IP address (for IPv6, one /64); 0 for no limit",
    example: "600",
  },
  RATE_LIMIT_FAILURES: {
    schema: requestsPerMinute.default(3_000),
    about:
      "Maximum failed authentications per minute from one IP address (for IPv6, one /64); 0 for no limit",
    example: "60",
  },
} as const satisfies Settings;

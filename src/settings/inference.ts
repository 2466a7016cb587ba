import { z } from "zod";
import { baseUrl, ms, type Settings, tokenUsd, words } from "./values.ts";

const TCB_STATUSES = [
  "UpToDate",
  "SWHardeningNeeded",
  "ConfigurationNeeded",
  "ConfigurationAndSWHardeningNeeded",
  "OutOfDate",
  "OutOfDateConfigurationNeeded",
] as const;
const statuses = z
  .string()
  .transform((text) => text.split(",").map((status) => status.trim()))
  .pipe(z.array(z.enum(TCB_STATUSES)).min(1));

/** Providers and models. */
export const PROVIDER_SETTINGS = {
  PROVIDERS_FILE: {
    schema: z.string().min(1).optional(),
    about:
      "A JSON file of additional providers: OpenAI-compatible servers, their models and prices (see docs/networks.md)",
    example: "providers.json",
  },
  CATALOGUE_REFRESH_MS: {
    schema: ms.default(15_000),
    about: "How often the providers are read from the chain and from PROVIDERS_FILE",
    example: "15000",
  },
  PROVIDER_CONNECT_MS: {
    schema: ms.default(5_000),
    about: "Deadline to connect to a provider",
    example: "5000",
  },
  PROVIDER_FIRST_BYTE_MS: {
    schema: ms.default(60_000),
    about:
      "Deadline for the response headers of a provider. For a non-streaming response, 8 ms per token are added while another provider remains to be tried, and the last provider has PROVIDER_TOTAL_MS",
    example: "60000",
  },
  PROVIDER_FIRST_TOKEN_MS: {
    schema: ms.default(10_000),
    about:
      "Deadline for the first content of a stream, or the first body byte of a non-streaming response, while another provider remains to be tried",
    example: "10000",
  },
  PROVIDER_SILENCE_MS: {
    schema: ms.default(60_000),
    about: "Maximum time between two chunks of a provider's response after its first content",
    example: "60000",
  },
  CLIENT_STALL_MS: {
    schema: ms.default(60_000),
    about: "How long a client may leave a stream unread before it counts as disconnected",
    example: "60000",
  },
  RESUME_STREAMS: {
    schema: z.enum(["on", "off"]).default("on"),
    about:
      "Whether an interrupted stream resumes with the next provider, provided that its response begins with everything already sent",
    example: "off",
  },
  PROVIDER_TOTAL_MS: {
    schema: ms.default(600_000),
    about: "Deadline for a provider's complete response",
    example: "600000",
  },
  PROVIDER_COOL_DOWN_MS: {
    schema: ms.default(5_000),
    about:
      "How long a provider that failed three times receives no requests. Then a single request probes it",
    example: "5000",
  },
  PROVIDER_CONNECTIONS: {
    schema: z.coerce.number().int().min(1).max(4_096).default(256),
    about: "Maximum connections to one provider",
    example: "256",
  },
  PLATFORM_WORDS: {
    schema: words.default(["0G", "Platform"]),
    about:
      "The words accepted in the names of routing headers, such as X-<word>-Provider-Sort, separated by commas",
    example: "0G,Platform",
  },
  TOKEN_USD: {
    schema: tokenUsd.optional(),
    about:
      "The price of one network token in US dollars: a decimal, or the URL of a JSON document with a field usd, price or usd_price; unset: clients cannot cap prices in dollars",
    example: "0.25",
  },
  MAX_COMPLETION_TOKENS: {
    schema: z.coerce.number().int().min(1).max(1_000_000).default(4_096),
    about: "The token limit of a completion when the client sets none",
    example: "4096",
  },
  CACHE_MIB_PER_ACCOUNT: {
    schema: z.coerce.number().int().min(0).max(65_536).default(64),
    about:
      "Maximum total size of the answers stored for one account (for clients that send X-0G-Cache), MiB. The oldest are deleted first; 0 disables the cache",
    example: "64",
  },
  CACHE_HIT_PRICE_PERCENT: {
    schema: z.coerce.number().int().min(0).max(100).default(0),
    about:
      "The charge for a stored answer, in percent of the charge for the request that the provider answered",
    example: "10",
  },
  TEE_CHECK_MS: {
    schema: ms.default(5_000),
    about: "How long to wait for a provider's signature when a client sends verify_tee",
    example: "5000",
  },
  ATTESTATION_COLLATERAL_URL: {
    schema: baseUrl.optional(),
    about:
      "The provisioning service (Intel's own, or a cache of it) that supplies the certificates and revocation lists for verifying providers' attestations; unset: attestations are not appraised. The development network still appraises them, but none passes",
    example: "https://api.trustedservices.intel.com",
  },
  ATTESTATION_MEASUREMENTS: {
    schema: z.string().min(1).optional(),
    about:
      "A JSON file that lists the accepted enclave software: an array of objects with mrtd, rtmr1, rtmr2 and compose_hash; unset: no attestation passes",
    example: "measurements.json",
  },
  ATTESTATION_STATUSES: {
    schema: statuses.default(["UpToDate"]),
    about:
      "Intel's statuses of a platform that are accepted, separated by commas: UpToDate, SWHardeningNeeded, ConfigurationNeeded, ConfigurationAndSWHardeningNeeded, OutOfDate, OutOfDateConfigurationNeeded",
    example: "UpToDate,SWHardeningNeeded",
  },
  ATTESTATION_REFRESH_MS: {
    schema: ms.default(3_600_000),
    about:
      "How often providers' attestations are appraised. A result that is older than three times this no longer counts",
    example: "3600000",
  },
} as const satisfies Settings;

/** Image jobs. */
export const JOB_SETTINGS = {
  JOBS_PARALLEL: {
    schema: z.coerce.number().int().min(1).max(10_000).default(64),
    about: "Image jobs that a worker runs at once",
    example: "64",
  },
  JOB_TOTAL_MS: { schema: ms.default(1_800_000), about: "Deadline for an image job", example: "1800000" },
  JOB_RESULT_HOURS: {
    schema: z.coerce.number().int().min(1).max(8_760).default(24),
    about: "How long the result of an image job is stored",
    example: "24",
  },
  STORE_JOB_IMAGES: {
    schema: z.enum(["on", "off"]).default("off"),
    about: "Whether the images of finished jobs are stored as files, paid for by the router's wallet",
    example: "on",
  },
} as const satisfies Settings;

/** Batches of requests, and their files. */
export const BATCH_SETTINGS = {
  BATCH_LINES_PARALLEL: {
    schema: z.coerce.number().int().min(1).max(1_024).default(8),
    about:
      "Batch requests that a worker runs at once. Each live request of the same process lowers this number by one, down to one",
    example: "8",
  },
  BATCH_FILE_MIB: {
    schema: z.coerce.number().int().min(1).max(512).default(100),
    about: "Largest input file of a batch, MiB",
    example: "100",
  },
  BATCH_FILES_MIB: {
    schema: z.coerce.number().int().min(1).max(1_048_576).default(1_024),
    about:
      "Maximum total size of an account's files, MiB. An upload that would exceed it is refused, and above it the account cannot create batches",
    example: "1024",
  },
  BATCH_FILE_DAYS: {
    schema: z.coerce.number().int().min(1).max(365).default(30),
    about: "How long the input and output files of batches are stored",
    example: "30",
  },
  BATCH_FILES_SECRET: {
    schema: z.string().min(32, "must have 32 characters or more").optional(),
    about:
      "Encryption keys for batch files are derived from this secret, which must be the same in every process. If unset, anyone with a copy of the database can read the files. After you change it, files stored under the old secret cannot be read; their batches wait for the old secret until they expire",
    example: "a-secret-of-at-least-32-characters",
    isSecret: true,
    mayBeEmpty: true,
  },
} as const satisfies Settings;

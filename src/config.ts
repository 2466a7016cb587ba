import { z } from "zod";
import { NETWORK_NAMES } from "./chain/networks.ts";
import {
  address,
  addresses,
  addressRanges,
  agentContracts,
  databaseUrl,
  httpUrl,
  marketContract,
  ms,
  origins,
  port,
  privateKey,
  requestsPerMinute,
  streamIds,
  tokenUsd,
  urls,
  words,
} from "./config-values.ts";
import { loadEnvFile } from "./env-file.ts";
import { graphLimits } from "./graph-limits.ts";
import { StartupError } from "./kernel/errors.ts";
import type { Hex } from "./kernel/text/hex.ts";

/** One setting: its schema, and its purpose and an example for the documentation. */
type Setting = { readonly schema: z.ZodType; readonly about: string; readonly example: string };

/** Every environment variable that the product reads. `.env.example` lists the same; a test compares the two. */
export const SETTINGS = {
  NETWORK: {
    schema: z.enum(NETWORK_NAMES).default("devnet"),
    about: "The network: devnet starts whatever is missing on this machine, the others never do",
    example: "testnet",
  },
  HOST: {
    schema: z.string().min(1).default("127.0.0.1"),
    about: "The address to listen on",
    example: "127.0.0.1",
  },
  PUBLIC_URL: {
    schema: httpUrl.transform((text) => text.replace(/\/$/, "")).optional(),
    about:
      "The URL at which clients reach this gateway, also used in the download URLs of storage clients; unset: HOST and PORT",
    example: "https://gateway.example.com",
  },
  PORT: { schema: port.default(4000), about: "The port of the gateway; 0 picks a free one", example: "4000" },
  SUBGRAPH_PORT: {
    schema: port.default(4100),
    about: "The port of a subgraph that runs as a separate process; 0 picks a free one",
    example: "4101",
  },
  SHARE_PORT: {
    schema: z.enum(["on", "off"]).default("off"),
    about:
      "Whether several processes of one kind may listen on the same port (Linux only): a new process then takes over without downtime",
    example: "on",
  },
  DATA_DIR: {
    schema: z.string().min(1).default(".data"),
    about: "The data directory of the embedded database",
    example: ".data",
  },
  DATABASE_URL: {
    schema: databaseUrl.optional(),
    about:
      "A PostgreSQL server to use instead of the embedded database; required when several processes run. Connection parameters follow libpq; sslmode is disable, require, verify-ca or verify-full",
    example: "postgresql://zerograph@127.0.0.1:5432/zerograph",
  },
  DATABASE_POOLER: {
    schema: z.enum(["none", "transaction"]).default("none"),
    about:
      "The pooler in front of the PostgreSQL server: transaction for one in transaction mode, such as PgBouncer; connections then use no prepared statements and no session settings",
    example: "transaction",
  },
  DATABASE_POOL_SIZE: {
    schema: z.coerce.number().int().min(2).max(200).default(10),
    about: "Connections to the PostgreSQL server",
    example: "10",
  },
  DATABASE_READ_POOL_SIZE: {
    schema: z.coerce.number().int().min(1).max(50).default(2),
    about:
      "Additional connections reserved for expensive reads (account usage); also the number of such reads that run at once",
    example: "2",
  },
  DATABASE_READ_TIMEOUT_MS: {
    schema: ms.default(5_000),
    about: "Deadline for an expensive read, and for its wait in the queue",
    example: "5000",
  },
  DATABASE_STATEMENT_TIMEOUT_MS: {
    schema: ms.default(30_000),
    about:
      "Deadline for any other statement on the PostgreSQL server, including time spent waiting for a lock",
    example: "30000",
  },
  REDIS_URL: {
    schema: z.url({ protocol: /^rediss?$/ }).optional(),
    about: "Redis, which carries events between processes",
    example: "redis://127.0.0.1:6379",
  },
  RPC_URL: {
    schema: urls.optional(),
    about: "RPC endpoints of the chain, separated by commas; on devnet, a chain that is already running",
    example: "http://127.0.0.1:8545",
  },
  ROUTER_PRIVATE_KEY: {
    schema: privateKey.optional(),
    about: "The key of the router's wallet, which signs for providers; required on a real network",
    example: `0x${"1".repeat(64)}`,
  },
  VAULT_ADDRESS: {
    schema: address.optional(),
    about: "The vault contract that receives deposits; unset: the network's own",
    example: "0x0AD9690e0b34aB2d493DE02cDF149ee34f6C9939",
  },
  VAULT_EVENT: {
    schema: z.string().min(1).default("event Deposited(address indexed account, uint256 amount)"),
    about: "The vault's deposit event, in Solidity syntax",
    example: "event Deposited(address indexed account, uint256 amount)",
  },
  VAULT_ACCOUNT_ARGUMENT: {
    schema: z.string().min(1).default("account"),
    about: "The argument of the deposit event that names the credited account",
    example: "account",
  },
  VAULT_AMOUNT_ARGUMENT: {
    schema: z.string().min(1).default("amount"),
    about: "The argument of the deposit event that holds the amount, in neuron",
    example: "amount",
  },
  START_BLOCK: {
    schema: z.coerce.bigint().min(0n).optional(),
    about: "The first block to read from the chain",
    example: "940000",
  },
  CONFIRMATIONS: {
    schema: z.coerce.number().int().min(0).max(1_000).optional(),
    about: "Blocks that must follow a deposit before it is credited; unset: 12, on devnet 0",
    example: "12",
  },
  REORG_BLOCKS: {
    schema: z.coerce.number().int().min(1).max(100_000).default(64),
    about:
      "The maximum depth of a reorg, in blocks beyond CONFIRMATIONS, that is rolled back automatically; a deeper one waits for npm run watcher:accept",
    example: "64",
  },
  AGENT_CONTRACTS: {
    schema: agentContracts.optional(),
    about:
      "Agent token contracts to read, separated by commas: generation (agent-nft or agentic-id), address and first block; unset: none, on devnet its own",
    example: "agent-nft:0x1111111111111111111111111111111111111111@1000",
  },
  AGENT_MARKET: {
    schema: marketContract.optional(),
    about:
      "The agent token market: its address, the address of the token contract it trades, and the first block; unset: none, on devnet its own",
    example: "0x2222222222222222222222222222222222222222/0x1111111111111111111111111111111111111111@1000",
  },
  WAIT_FINALIZED: {
    schema: z.enum(["on", "off"]).optional(),
    about:
      "Whether a deposit must also be in a finalized block, where the RPC reports finality; unset: off on devnet, on otherwise",
    example: "on",
  },
  PROVIDERS_FILE: {
    schema: z.string().min(1).optional(),
    about:
      "A JSON file of additional providers: OpenAI-compatible servers, their models and prices (see README)",
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
      "Deadline for the response headers of a provider; a non-streaming response has 8 ms more per token while another provider remains, and PROVIDER_TOTAL_MS with the last one",
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
  STREAM_KEEP_ALIVE_MS: {
    schema: ms.default(10_000),
    about:
      "How long a streamed response may be idle before a comment is sent, so that proxies and clients do not time out; the first comment also sends the response headers",
    example: "10000",
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
    about: "How long a provider that failed three times gets no requests before one probes it",
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
  STORAGE_STATUS: {
    schema: z.enum(["http", "legacy"]).default("http"),
    about:
      "HTTP statuses of the storage endpoints: http for standard ones, legacy for 200 and 600 like the original gateway",
    example: "http",
  },
  KV_STREAMS: {
    schema: streamIds.optional(),
    about:
      "The key-value streams to replay: ids separated by commas, or all, or none; unset: all on devnet, none otherwise. A change restarts the replay from the beginning",
    example: `0x${"1".repeat(64)}`,
  },
  KV_ENCRYPTION_KEY: {
    schema: privateKey.optional(),
    about: "The key that decrypts encrypted streams (AES-256), 0x and 64 hexadecimal digits",
    example: `0x${"1".repeat(64)}`,
  },
  KV_PRIVATE_KEY: {
    schema: privateKey.optional(),
    about: "The private key (secp256k1) that decrypts streams encrypted with ECIES",
    example: `0x${"1".repeat(64)}`,
  },
  KV_DATA_WAIT_MS: {
    schema: ms.default(3_600_000),
    about: "How long to wait for the file of a key-value transaction before the transaction counts as failed",
    example: "3600000",
  },
  KV_WHOLE_VALUES: {
    schema: z.enum(["on", "off"]).default("on"),
    about:
      "Whether kv_getValue and similar methods return values of up to 4 MiB in full when their first 262,144 bytes are requested, as the TypeScript SDKs need; off: never more than requested",
    example: "on",
  },
  STORE_JOB_IMAGES: {
    schema: z.enum(["on", "off"]).default("off"),
    about: "Whether the images of finished jobs are stored as files, paid for by the router's wallet",
    example: "on",
  },
  BODY_MS: { schema: ms.default(30_000), about: "Deadline for receiving a request body", example: "30000" },
  UPLOAD_MS: {
    schema: ms.default(120_000),
    about: "Deadline for receiving a body that may be large: prompts, audio, images, JSON-RPC",
    example: "120000",
  },
  MAX_PROMPT_MIB: {
    schema: z.coerce.number().int().min(1).max(256).default(32),
    about:
      "Maximum body size of a chat, a message or a token count, MiB; three times the size is reserved from REQUEST_MEMORY_MIB, of which one account may use half",
    example: "32",
  },
  REQUEST_MEMORY_MIB: {
    schema: z.coerce.number().int().min(128).max(65_536).default(256),
    about:
      "Memory that the requests of a process may hold, MiB: bodies, and responses until they are read. One account may use half of it, one address a third, all addresses together half",
    example: "1024",
  },
  MAX_EVENT_LOOP_DELAY_MS: {
    schema: z.coerce.number().int().min(20).max(3_600_000).default(200),
    about: "The event loop delay (99th percentile over half a second) from which on requests are rejected",
    example: "500",
  },
  RATE_LIMIT_PER_KEY: {
    schema: requestsPerMinute.default(600_000),
    about: "Requests per minute of one key or session; 0 for no limit",
    example: "6000",
  },
  RATE_LIMIT_PER_ADDRESS: {
    schema: requestsPerMinute.default(60_000),
    about: "Requests per minute without a credential from one address (of IPv6, one /64); 0 for no limit",
    example: "600",
  },
  RATE_LIMIT_FAILURES: {
    schema: requestsPerMinute.default(3_000),
    about: "Failed authentications per minute from one address (of IPv6, one /64); 0 for no limit",
    example: "60",
  },
  CORS_ORIGINS: {
    schema: origins.optional(),
    about:
      "The origins whose pages may read responses, separated by commas; unset: none, on devnet every page of this machine",
    example: "https://app.example.com",
  },
  SIGN_IN_ORIGINS: {
    schema: origins.optional(),
    about:
      "The origins on which wallets may sign in, separated by commas; unset: none, on devnet every page of this machine",
    example: "https://app.example.com",
  },
  TRUSTED_PROXIES: {
    schema: addressRanges.optional(),
    about:
      "Proxies in front of the gateway whose X-Forwarded-For is trusted: IP addresses or CIDR ranges, separated by commas; unset: none",
    example: "10.0.0.0/8,192.0.2.7",
  },
  INTERNAL_SECRET: {
    schema: z.string().min(32, "must have 32 characters or more").optional(),
    about: "Signs the caller's identity between gateway and subgraph processes; the same in all of them",
    example: "a-secret-of-at-least-32-characters",
  },
  ROUTER_SECRET: {
    schema: z.string().min(32, "must have 32 characters or more").optional(),
    about:
      "The secret that a third-party router sends to subgraph processes in x-zerograph-router, beside the client's Authorization (see docs/routers.md); unset: only our gateways are accepted",
    example: "another-secret-of-at-least-32-characters",
  },
  ACCOUNTS_URL: {
    schema: httpUrl.optional(),
    about: "The URL of the accounts subgraph's process",
    example: "http://127.0.0.1:4101",
  },
  INFERENCE_URL: {
    schema: httpUrl.optional(),
    about: "The URL of the inference subgraph's process",
    example: "http://127.0.0.1:4102",
  },
  STORAGE_URL: {
    schema: httpUrl.optional(),
    about: "The URL of the storage subgraph's process",
    example: "http://127.0.0.1:4103",
  },
  CHAIN_URL: {
    schema: httpUrl.optional(),
    about: "The URL of the chain subgraph's process",
    example: "http://127.0.0.1:4104",
  },
  NODE_OPERATORS: {
    schema: addresses.optional(),
    about: "The wallets that may read the operator's node over GraphQL, separated by commas; unset: none",
    example: "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
  },
  NODE_CONSENSUS_URL: {
    schema: httpUrl.optional(),
    about: "The RPC of the operator's consensus client",
    example: "http://127.0.0.1:26657",
  },
  NODE_EXECUTION_URL: {
    schema: httpUrl.optional(),
    about: "The JSON-RPC of the operator's execution client",
    example: "http://127.0.0.1:8545",
  },
  NODE_ENGINE_URL: {
    schema: httpUrl.optional(),
    about: "The engine API of the operator's execution client",
    example: "http://127.0.0.1:8551",
  },
  NODE_CONSENSUS_JWT_FILE: {
    schema: z.string().min(1).optional(),
    about: "The JWT secret file that the consensus client uses",
    example: "/srv/node/jwt.hex",
  },
  NODE_EXECUTION_JWT_FILE: {
    schema: z.string().min(1).optional(),
    about: "The JWT secret file that the execution client uses",
    example: "/srv/node/jwt.hex",
  },
  NODE_CONSENSUS_HOME: {
    schema: z.string().min(1).optional(),
    about: "The consensus client's home directory, with config and data",
    example: "/srv/node/0gchaind-home",
  },
  NODE_EXECUTION_DATA: {
    schema: z.string().min(1).optional(),
    about: "The execution client's data directory",
    example: "/srv/node/reth-home",
  },
  NODE_PUBLIC_ADDRESS: {
    schema: z
      .string()
      .regex(/^[A-Za-z0-9.:-]{1,253}$/, "must be a host or an IP address")
      .optional(),
    about: "The public host of the node's P2P ports, 26656 and 30303",
    example: "203.0.113.7",
  },
  NODE_PUBLIC_RPC_URL: {
    schema: httpUrl.optional(),
    about: "An RPC of the same chain to compare the node's height with; unset: the network's own",
    example: "https://evmrpc-testnet.0g.ai",
  },
  NODE_ETH_RPC_URL: {
    schema: httpUrl.optional(),
    about: "The Ethereum mainnet RPC that the consensus client uses for restaking",
    example: "https://ethereum-rpc.example.com",
  },
  NODE_OTHER_CONSENSUS_URLS: {
    schema: urls.pipe(z.array(z.string()).max(16)).optional(),
    about:
      "Consensus RPCs of other machines that have, or had, the same validator key, separated by commas: signing with two of them is slashed",
    example: "http://10.0.0.8:26657",
  },
  INTROSPECTION: {
    schema: z.enum(["on", "off"]).optional(),
    about: "Whether GraphQL introspection is enabled; unset: on for devnet, off otherwise",
    example: "on",
  },
  GRAPH_LIMITS: {
    schema: graphLimits.optional(),
    about: "GraphQL limits that override the defaults in schema/choices.md, separated by commas",
    example: "depth=12,cost=2000,socketsPerKey=50",
  },
  GRAPH_QUERY_MS: {
    schema: ms.default(30_000),
    about: "Deadline for a GraphQL query; after it no further subgraph is called",
    example: "30000",
  },
  TRUSTED_DOCUMENTS: {
    schema: z.string().min(1).optional(),
    about:
      "A JSON file of documents that clients may reference by id: Apollo's manifest, or an object that maps ids to documents",
    example: "persisted-query-manifest.json",
  },
  TRUSTED_DOCUMENTS_ONLY: {
    schema: z.enum(["on", "off"]).default("off"),
    about: "Whether GraphQL accepts only the documents of TRUSTED_DOCUMENTS",
    example: "on",
  },
  STORAGE: {
    schema: z.enum(["disk", "network"]).optional(),
    about:
      "Where files are stored: disk, in STORAGE_DIR, or network, on the network's storage nodes; unset: disk on devnet, network otherwise",
    example: "disk",
  },
  STORAGE_DIR: {
    schema: z.string().min(1).optional(),
    about: "The directory of stored files, shared by all processes; unset: storage in DATA_DIR",
    example: "/var/lib/zerograph/storage",
  },
  STORAGE_QUOTA_GIB: {
    schema: z.coerce.number().int().min(1).max(1_048_576).default(100),
    about: "Disk space for files in STORAGE_DIR, GiB; a tenth of it for files that are not on the chain yet",
    example: "500",
  },
  STORAGE_UNSUBMITTED_HOURS: {
    schema: z.coerce.number().int().min(1).max(8_760).default(24),
    about: "How long an uploaded file that is never submitted to the chain is stored",
    example: "24",
  },
  STORAGE_VERIFY: {
    schema: z.enum(["on", "off"]).default("on"),
    about:
      "Whether data read from STORAGE_DIR is verified against its root again; off trusts the disk. Data from other nodes is always verified",
    example: "off",
  },
  STORAGE_CACHE_MIB: {
    schema: z.coerce.number().int().min(0).max(65_536).default(64),
    about: "Memory for recently read segments, MiB",
    example: "64",
  },
  STORAGE_HASH_THREADS: {
    schema: z.coerce.number().int().min(1).max(64).optional(),
    about: "Threads that verify segments; unset: one fewer than cores, 1 to 4",
    example: "2",
  },
  STORAGE_INDEXERS: {
    schema: urls.optional(),
    about: "Indexers that list the storage nodes, with STORAGE=network; unset: the network's own",
    example: "https://indexer-storage-testnet-turbo.0g.ai",
  },
  STORAGE_NODES: {
    schema: urls.optional(),
    about: "Storage nodes to use in addition to those of the indexers, with STORAGE=network",
    example: "http://127.0.0.1:5678",
  },
  TEE_CHECK_MS: {
    schema: ms.default(5_000),
    about: "How long to wait for a provider's signature when a client sends verify_tee",
    example: "5000",
  },
  METRICS_PORT: {
    schema: port.optional(),
    about: "The port of /metrics for Prometheus, on 127.0.0.1 only; 0 picks a free one; unset: no metrics",
    example: "9464",
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: httpUrl.optional(),
    about:
      "The OpenTelemetry collector that receives traces, over HTTP as JSON; unset: no traces. The other OTEL_EXPORTER_OTLP_* variables and OTEL_RESOURCE_ATTRIBUTES also apply",
    example: "http://127.0.0.1:4318",
  },
  OTEL_SERVICE_NAME: {
    schema: z.string().min(1).max(255).optional(),
    about: "The service name of this process in traces; unset: zerograph and its role",
    example: "zerograph-gateway",
  },
  OTEL_TRACES_SAMPLER: {
    schema: z
      .enum([
        "always_on",
        "always_off",
        "traceidratio",
        "parentbased_always_on",
        "parentbased_always_off",
        "parentbased_traceidratio",
      ])
      .default("parentbased_always_on"),
    about: "Which requests are traced",
    example: "parentbased_traceidratio",
  },
  OTEL_TRACES_SAMPLER_ARG: {
    schema: z.coerce.number().min(0).max(1).default(1),
    about: "The sampling ratio, for the ratio samplers",
    example: "0.1",
  },
  SLOW_OPERATION_MS: {
    schema: z.coerce.number().int().min(0).max(3_600_000).default(2_000),
    about:
      "GraphQL operations that take longer are logged with their query plan and the duration of each fetch; 0 disables this",
    example: "500",
  },
  LOG_LEVEL: {
    schema: z.enum(["debug", "info", "warn", "error", "silent"]).default("info"),
    about: "The minimum level to log, to standard error",
    example: "info",
  },
} as const satisfies Record<string, Setting>;

type Values = { readonly [Name in keyof typeof SETTINGS]: z.output<(typeof SETTINGS)[Name]["schema"]> };

/** The settings as the product uses them. */
export type Config = Omit<Values, "ROUTER_PRIVATE_KEY" | "VAULT_ADDRESS"> & {
  readonly ROUTER_PRIVATE_KEY: Hex | undefined;
  readonly VAULT_ADDRESS: Hex | undefined;
};

/**
 * Reads the settings from `environment`, by default the process environment and `.env`. Throws one `StartupError` that
 * names every mistake at once.
 */
export function readConfig(environment = processEnvironment()): Config {
  const { config, mistakes } = readSettings(environment);
  return orThrow(config, [...mistakes, ...conflicts(config, mistakes.length > 0)]);
}

/** The same for a command that starts nothing: settings that only a server requires may be missing. */
export function readPartialConfig(environment = processEnvironment()): Config {
  const { config, mistakes } = readSettings(environment);
  return orThrow(config, mistakes);
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Loads `.env` into `process.env`, also for variables read by name: those of PROVIDERS_FILE and of libraries. */
function processEnvironment(): Environment {
  loadEnvFile(process.env, Object.keys(SETTINGS));
  return process.env;
}

function readSettings(environment: Environment): {
  readonly config: Config;
  readonly mistakes: readonly string[];
} {
  const values: Record<string, unknown> = {};
  const mistakes: string[] = [];
  for (const [name, { schema, example }] of Object.entries(SETTINGS)) {
    const text = environment[name];
    const result = schema.safeParse(text === "" ? undefined : text);
    if (result.success) values[name] = result.data;
    else
      mistakes.push(
        `${name}: ${result.error.issues[0]?.message ?? "malformed"}, for example ${name}=${example}`,
      );
  }
  return { config: values as Config, mistakes };
}

function orThrow(config: Config, mistakes: readonly string[]): Config {
  if (mistakes.length > 0)
    throw new StartupError(`The configuration is wrong:\n${mistakes.map((line) => `  ${line}\n`).join("")}`);
  return config;
}

function conflicts(config: Config, isPartial: boolean): readonly string[] {
  if (isPartial) return [];
  const missing = (name: keyof typeof SETTINGS, why: string) =>
    `${name}: ${why}, for example ${name}=${SETTINGS[name].example}`;
  const found: string[] = [];
  if (config.NETWORK !== "devnet" && !config.ROUTER_PRIVATE_KEY)
    found.push(missing("ROUTER_PRIVATE_KEY", `required with NETWORK=${config.NETWORK}`));
  if (config.REDIS_URL && !config.DATABASE_URL)
    found.push(
      missing(
        "DATABASE_URL",
        "required with REDIS_URL: several processes cannot share the embedded database",
      ),
    );
  if (config.TRUSTED_DOCUMENTS_ONLY === "on" && !config.TRUSTED_DOCUMENTS)
    found.push(missing("TRUSTED_DOCUMENTS", "required with TRUSTED_DOCUMENTS_ONLY=on"));
  return found;
}

/** An environment variable that PROVIDERS_FILE references; undefined when it is unset or empty. */
export function readVariable(name: string): string | undefined {
  return process.env[name] || undefined;
}

import { z } from "zod";
import { key32Bytes, ms, type Settings, secp256k1Key, streamIds, urls } from "./values.ts";

/** Files. */
export const FILE_SETTINGS = {
  STORAGE_STATUS: {
    schema: z.enum(["http", "legacy"]).default("http"),
    about:
      "HTTP statuses of the storage endpoints: http for standard ones, legacy for 200 and 600 like the original gateway",
    example: "http",
  },
  STORAGE: {
    schema: z.enum(["disk", "network"]).optional(),
    about:
      "Where files are stored: disk, in STORAGE_DIR, or network, on the network's storage nodes; unset: disk on devnet, network otherwise",
    example: "disk",
  },
  STORAGE_DIR: {
    schema: z.string().min(1).optional(),
    about: "The directory of stored files, shared by all processes; unset: the folder storage in DATA_DIR",
    example: "/var/lib/zerograph/storage",
  },
  STORAGE_QUOTA_GIB: {
    schema: z.coerce.number().int().min(1).max(1_048_576).default(100),
    about:
      "Disk space for files in STORAGE_DIR, GiB. Files that are not on the chain yet may use a tenth of it",
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
} as const satisfies Settings;

/** Key-value streams. */
export const KV_SETTINGS = {
  KV_STREAMS: {
    schema: streamIds.optional(),
    about:
      "The key-value streams to replay: ids separated by commas, or all, or none; unset: all on devnet, none otherwise. A change restarts the replay from the beginning",
    example: `0x${"1".repeat(64)}`,
  },
  KV_ENCRYPTION_KEY: {
    schema: key32Bytes.optional(),
    about: "The key that decrypts encrypted streams (AES-256), 0x and 64 hexadecimal digits",
    example: `0x${"1".repeat(64)}`,
    isSecret: true,
    mayBeEmpty: true,
  },
  KV_PRIVATE_KEY: {
    schema: secp256k1Key.optional(),
    about: "The private key (secp256k1) that decrypts streams encrypted with ECIES",
    example: `0x${"1".repeat(64)}`,
    isSecret: true,
    mayBeEmpty: true,
  },
  KV_DATA_WAIT_MS: {
    schema: ms.default(3_600_000),
    about:
      "How long a process waits for the file of a key-value transaction, from when it first misses the file, before the transaction counts as failed",
    example: "3600000",
  },
  KV_WHOLE_VALUES: {
    schema: z.enum(["on", "off"]).default("on"),
    about:
      "Whether kv_getValue and similar methods return values of up to 4 MiB in full when their first 262,144 bytes are requested, as the TypeScript SDKs need; off: never more than requested",
    example: "on",
  },
} as const satisfies Settings;

import { z } from "zod";
import { databaseUrl, key32Bytes, ms, redisUrl, type Settings } from "./values.ts";

/** The receipts of billed requests. */
export const RECEIPT_SETTINGS = {
  RECEIPT_KEY: {
    schema: key32Bytes.optional(),
    about:
      "The Ed25519 key that signs receipts and the heads of their log: the 32 bytes of its seed; unset: derived from a secret in the database",
    example: "0x0000000000000000000000000000000000000000000000000000000000000001",
    isSecret: true,
  },
  RECEIPT_CHECKPOINT_SECONDS: {
    schema: z.coerce.number().int().min(1).max(3_600).optional(),
    about:
      "Minimum interval between two signed heads of the receipt log, in seconds; unset: 60 (on devnet, 1)",
    example: "60",
  },
} as const satisfies Settings;

const months = z.coerce.number().int().min(1).max(1_200);

/** The database and Redis. */
export const STATE_SETTINGS = {
  DATA_DIR: {
    schema: z.string().min(1).default(".data"),
    about: "The data directory of the embedded database",
    example: ".data",
  },
  DATABASE_URL: {
    schema: databaseUrl("primary").optional(),
    about:
      "A PostgreSQL server to use instead of the embedded database; required when several processes run. Connection parameters follow libpq; sslmode is disable, require, verify-ca or verify-full. Of several hosts (host1:5432,host2:5432) the one that accepts writes is used",
    example: "postgresql://zerograph@127.0.0.1:5432/zerograph",
    isSecret: true,
  },
  DATABASE_PASSWORD: {
    schema: z.string().min(1).optional(),
    about: "The password for DATABASE_URL, without percent-encoding",
    example: "correct horse/battery@staple",
    isSecret: true,
  },
  DATABASE_REPLICA_URL: {
    schema: databaseUrl("replica").optional(),
    about:
      "A streaming standby of the PostgreSQL server for expensive reads (account usage), which may lag; unset: these reads use DATABASE_URL",
    example: "postgresql://zerograph@127.0.0.1:5433/zerograph",
    isSecret: true,
    mayBeEmpty: true,
  },
  DATABASE_REPLICA_MAX_LAG_MS: {
    schema: ms.default(10_000),
    about: "How far the standby may lag. While it lags further or is unreachable, reads use DATABASE_URL",
    example: "10000",
  },
  DATABASE_POOLER: {
    schema: z.enum(["none", "transaction"]).default("none"),
    about:
      "The connection pooler in front of the PostgreSQL server: none, or transaction for one in transaction mode, such as PgBouncer. With transaction, connections use no prepared statements or session settings",
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
  RETENTION_REQUESTS_MONTHS: {
    schema: months.optional(),
    about:
      "How many whole months of requests are kept, in addition to the current month. Older requests are archived and removed, with their evidence and jobs; unset: all are kept",
    example: "12",
  },
  RETENTION_LEDGER_MONTHS: {
    schema: months.optional(),
    about:
      "How many whole months of ledger transfers are kept, in addition to the current month. Older transfers are archived and become opening balances; unset: all are kept",
    example: "24",
  },
  RETENTION_ARCHIVE_FOLDER: {
    schema: z.string().min(1).optional(),
    about:
      "The folder of the archives, which every worker must reach; required with RETENTION_REQUESTS_MONTHS or RETENTION_LEDGER_MONTHS",
    example: "/var/lib/zerograph/archive",
  },
  REDIS_URL: {
    schema: redisUrl.optional(),
    about:
      "Redis, which carries events between processes: redis://host:6379, redis+sentinel://host1:26379,host2:26379/mymaster or redis+cluster://host1:6379,host2:6379; for TLS, write rediss instead of redis",
    example: "redis://127.0.0.1:6379",
    isSecret: true,
  },
  REDIS_PASSWORD: {
    schema: z.string().min(1).optional(),
    about: "The password for REDIS_URL, without percent-encoding",
    example: "correct horse/battery@staple",
    isSecret: true,
  },
  REDIS_CA_FILE: {
    schema: z.string().min(1).optional(),
    about:
      "A PEM file with the certificate authorities that are trusted for Redis, with rediss in REDIS_URL; unset: those that Node trusts",
    example: "redis-ca.pem",
  },
  REDIS_SENTINEL_PASSWORD: {
    schema: z.string().min(1).optional(),
    about:
      "The password of the sentinels. The one in REDIS_URL is only for the servers that the sentinels watch",
    example: "a-password",
    isSecret: true,
    mayBeEmpty: true,
  },
} as const satisfies Settings;

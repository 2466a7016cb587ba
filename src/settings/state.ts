import { z } from "zod";
import { databaseUrl, ms, type Settings } from "./values.ts";

/** The database and Redis. */
export const STATE_SETTINGS = {
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
} as const satisfies Settings;

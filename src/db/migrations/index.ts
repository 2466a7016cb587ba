import { CreateAccounts } from "./01-accounts.ts";
import { CreateEvents } from "./02-events.ts";
import { CreateChain } from "./03-chain.ts";
import { CreateUsage } from "./05-usage.ts";

/** Every migration in its order, for the embedded database and a server alike. Names never change once released. */
export const migrations = [
  { name: "01-accounts", class: CreateAccounts },
  { name: "02-events", class: CreateEvents },
  { name: "03-chain", class: CreateChain },
  { name: "05-usage", class: CreateUsage },
] as const;

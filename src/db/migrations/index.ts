import { CreateAccounts } from "./01-accounts.ts";
import { CreateEvents } from "./02-events.ts";
import { CreateChain } from "./03-chain.ts";
import { CreateSessions } from "./04-sessions.ts";
import { CreateUsage } from "./05-usage.ts";
import { LimitApiKeys } from "./06-api-keys.ts";
import { KeepRouting } from "./07-routing.ts";
import { CreateJobs } from "./08-jobs.ts";
import { KeepEvidence } from "./09-evidence.ts";
import { CreateAgents } from "./10-agents.ts";
import { CreateMarket } from "./11-market.ts";
import { HoldFiles } from "./12-held-files.ts";
import { FollowFiles } from "./13-files.ts";
import { StoreImages } from "./13-image-files.ts";
import { CreateKv } from "./14-kv.ts";
import { FindSubmissionsByRoot } from "./15-submission-root.ts";
import { CountHeldGenerations } from "./16-held-generation.ts";
import { NameJobKeys } from "./17-job-keys.ts";
import { SealAnswers } from "./17-sealed-answers.ts";
import { NumberUsagePerAccount } from "./17-usage.ts";
import { NumberUsageAfterUpdate } from "./18-usage-trigger.ts";

/** Every migration in its order, for the embedded database and a server alike. Names never change once released. */
export const migrations = [
  { name: "01-accounts", class: CreateAccounts },
  { name: "02-events", class: CreateEvents },
  { name: "03-chain", class: CreateChain },
  { name: "04-sessions", class: CreateSessions },
  { name: "05-usage", class: CreateUsage },
  { name: "06-api-keys", class: LimitApiKeys },
  { name: "07-routing", class: KeepRouting },
  { name: "08-jobs", class: CreateJobs },
  { name: "09-evidence", class: KeepEvidence },
  { name: "10-agents", class: CreateAgents },
  { name: "11-market", class: CreateMarket },
  { name: "12-held-files", class: HoldFiles },
  { name: "13-files", class: FollowFiles },
  { name: "13-image-files", class: StoreImages },
  { name: "14-kv", class: CreateKv },
  { name: "15-submission-root", class: FindSubmissionsByRoot },
  { name: "16-held-generation", class: CountHeldGenerations },
  { name: "17-job-keys", class: NameJobKeys },
  { name: "17-sealed-answers", class: SealAnswers },
  { name: "17-usage", class: NumberUsagePerAccount },
  { name: "18-usage-trigger", class: NumberUsageAfterUpdate },
] as const;

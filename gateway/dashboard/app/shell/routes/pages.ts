import { batchesPage } from "../../pages/batches/batches.page.ts";
import { depositsPage } from "../../pages/deposits/deposits.page.ts";
import { jobsPage } from "../../pages/jobs/jobs.page.ts";
import { keysPage } from "../../pages/keys/keys.page.ts";
import { modelsPage } from "../../pages/models/models.page.ts";
import { networkPage } from "../../pages/network/network.page.ts";
import { nodePage } from "../../pages/node/node.page.ts";
import { operationsPage } from "../../pages/operations/operations.page.ts";
import { overviewPage } from "../../pages/overview/overview.page.ts";
import { playgroundPage } from "../../pages/playground/playground.page.ts";
import { providersPage } from "../../pages/providers/providers.page.ts";
import { requestsPage } from "../../pages/requests/requests.page.ts";
import { settingsPage } from "../../pages/settings/settings.page.ts";
import { storagePage } from "../../pages/storage/storage.page.ts";
import { tagsPage } from "../../pages/tags/tags.page.ts";
import { tokensPage } from "../../pages/tokens/tokens.page.ts";
import { webhooksPage } from "../../pages/webhooks/webhooks.page.ts";

/** Every page, in the order of the navigation, by groups. Routes, navigation and palette are made of it. */
export const PAGES = [
  overviewPage,
  modelsPage,
  playgroundPage,
  keysPage,
  webhooksPage,
  requestsPage,
  jobsPage,
  batchesPage,
  depositsPage,
  tagsPage,
  storagePage,
  tokensPage,
  networkPage,
  providersPage,
  operationsPage,
  nodePage,
  settingsPage,
] as const;

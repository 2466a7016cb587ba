import { DEPOSIT_SETTINGS, NETWORK_SETTINGS } from "../src/settings/chain.ts";
import { GRAPH_SETTINGS } from "../src/settings/graph.ts";
import { BATCH_SETTINGS, JOB_SETTINGS, PROVIDER_SETTINGS } from "../src/settings/inference.ts";
import { NODE_SETTINGS } from "../src/settings/node.ts";
import { OPERATION_SETTINGS } from "../src/settings/operation.ts";
import { LISTENING_SETTINGS, PROCESS_SETTINGS, RATE_LIMIT_SETTINGS } from "../src/settings/server.ts";
import { RECEIPT_SETTINGS, STATE_SETTINGS } from "../src/settings/state.ts";
import { FILE_SETTINGS, KV_SETTINGS } from "../src/settings/storage.ts";
import type { Setting, Settings } from "../src/settings/values.ts";

/** The settings by subject. */
const SECTIONS: readonly { readonly title: string; readonly settings: Settings }[] = [
  { title: "The network and the chain", settings: NETWORK_SETTINGS },
  { title: "Deposits", settings: DEPOSIT_SETTINGS },
  { title: "Listening", settings: LISTENING_SETTINGS },
  { title: "State", settings: STATE_SETTINGS },
  { title: "Receipts", settings: RECEIPT_SETTINGS },
  { title: "Several processes", settings: PROCESS_SETTINGS },
  { title: "Providers and models", settings: PROVIDER_SETTINGS },
  { title: "Image jobs", settings: JOB_SETTINGS },
  { title: "Batches", settings: BATCH_SETTINGS },
  { title: "Files", settings: FILE_SETTINGS },
  { title: "Key-value streams", settings: KV_SETTINGS },
  { title: "The graph", settings: GRAPH_SETTINGS },
  { title: "Rate limits", settings: RATE_LIMIT_SETTINGS },
  { title: "Your own node", settings: NODE_SETTINGS },
  { title: "Logs, metrics and other settings", settings: OPERATION_SETTINGS },
];

/** The text of docs/configuration.md: every setting, from the same list that the product reads. */
export function configurationPage(): string {
  const sections = SECTIONS.map(({ title, settings }) => {
    const rows = Object.entries(settings).map(row).join("\n");
    return `## ${title}\n| Setting | Default | Description | Example |\n|---|---|---|---|\n${rows}\n`;
  });
  return `# Configuration
Every setting is an environment variable or a line of \`.env\` in the working directory, and is read once at startup. Environment variables take precedence. \`ENV_FILE\` names a file to read instead of \`.env\`. The value of a setting marked *secret* may be in a file instead, which \`<setting>_FILE\` names: \`ROUTER_PRIVATE_KEY_FILE=/run/secrets/router-key\`. A line break at the end of that file is ignored. The same applies to variables that \`PROVIDERS_FILE\` references. Invalid settings are reported, each with an example, before anything else starts. Without any settings, a development network is started. [.env.example](../.env.example) has the same list to copy. This page is generated from [src/settings](../src/settings) by \`npm run schema\`.

${sections.join("\n")}`;
}

function row([name, { schema, about, example, isSecret = false }]: readonly [string, Setting]): string {
  const fallback = schema.safeParse(undefined);
  const value = fallback.success ? fallback.data : undefined;
  return `| \`${name}\` | ${value === undefined ? "" : code(String(value))} | ${cell(about)}${isSecret ? ". *Secret*" : ""} | ${code(example)} |`;
}

function code(text: string): string {
  return `\`${cell(text)}\``;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

import { SETTINGS } from "../src/config.ts";

type Name = keyof typeof SETTINGS;

/** Settings by subject: a setting belongs to the first entry that matches, and the last entry takes the rest. */
const SECTIONS: readonly { readonly title: string; readonly has: RegExp }[] = [
  { title: "The network and the chain", has: /^(NETWORK|RPC_URL|ROUTER_|START_BLOCK|REORG_|AGENT_|WAIT_)/ },
  { title: "Deposits", has: /^(VAULT_|CONFIRMATIONS)/ },
  {
    title: "Listening",
    has: /^(HOST|PORT|PUBLIC_URL|TRUSTED_PROXIES|CORS_|SIGN_IN_|BODY_MS|UPLOAD_MS)/,
  },
  { title: "State", has: /^(DATA_DIR|DATABASE_|REDIS_)/ },
  { title: "Several processes", has: /^(SUBGRAPH_PORT|INTERNAL_|(ACCOUNTS|INFERENCE|STORAGE|CHAIN)_URL)/ },
  {
    title: "Providers and models",
    has: /^(PROVIDER|CATALOGUE_|PLATFORM_|TOKEN_USD|MAX_COMPLETION|RESUME_|CLIENT_|TEE_)/,
  },
  { title: "Image jobs", has: /^(JOB|STORE_JOB)/ },
  { title: "Files", has: /^STORAGE/ },
  { title: "Key-value streams", has: /^KV_/ },
  { title: "The graph", has: /^(GRAPH_|INTROSPECTION|TRUSTED_DOCUMENTS)/ },
  { title: "Rate limits", has: /^RATE_/ },
  { title: "Your own node", has: /^NODE_/ },
  { title: "Logs, metrics and other settings", has: /./ },
];

/** The text of docs/configuration.md: every setting, from the same list that the product reads. */
export function configurationPage(): string {
  const names = Object.keys(SETTINGS) as Name[];
  const sections = SECTIONS.map(({ title }, n) => {
    const own = names.filter((name) => SECTIONS.findIndex(({ has }) => has.test(name)) === n);
    return `## ${title}\n| Setting | Default | Description | Example |\n|---|---|---|---|\n${own.map(row).join("\n")}\n`;
  });
  return `# Configuration
Every setting is an environment variable or a line of \`.env\` in the working directory, read once at startup. The environment takes precedence, and \`ENV_FILE\` names another file. An invalid setting is reported, with an example, before anything else starts. Without any settings a development network is started. [.env.example](../.env.example) has the same list to copy. This page is generated from [src/config.ts](../src/config.ts) by \`npm run schema\`.

${sections.join("\n")}`;
}

function row(name: Name): string {
  const { schema, about, example } = SETTINGS[name];
  const fallback = schema.safeParse(undefined);
  const value = fallback.success ? fallback.data : undefined;
  return `| \`${name}\` | ${value === undefined ? "" : code(String(value))} | ${cell(about)} | ${code(example)} |`;
}

function code(text: string): string {
  return `\`${cell(text)}\``;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

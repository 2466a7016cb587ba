import { SETTINGS } from "../src/config.ts";

type Name = keyof typeof SETTINGS;

/** Settings by what they are about: the first line that fits has a setting, and the last one has all the others. */
const ROOMS: readonly { readonly title: string; readonly has: RegExp }[] = [
  { title: "The network and the chain", has: /^(NETWORK|RPC_URL|ROUTER_|START_BLOCK|REORG_|AGENT_|WAIT_)/ },
  { title: "Deposits", has: /^(VAULT_|CONFIRMATIONS)/ },
  {
    title: "Where it listens",
    has: /^(HOST|PORT|PUBLIC_URL|TRUSTED_PROXIES|CORS_|SIGN_IN_|BODY_MS|UPLOAD_MS)/,
  },
  { title: "Where state is", has: /^(DATA_DIR|DATABASE_|REDIS_)/ },
  { title: "Several processes", has: /^(SUBGRAPH_PORT|INTERNAL_|(ACCOUNTS|INFERENCE|STORAGE|CHAIN)_URL)/ },
  {
    title: "Providers and models",
    has: /^(PROVIDER|CATALOGUE_|PLATFORM_|TOKEN_USD|MAX_COMPLETION|RESUME_|CLIENT_|TEE_)/,
  },
  { title: "Image jobs", has: /^(JOB|STORE_JOB)/ },
  { title: "Files", has: /^STORAGE/ },
  { title: "Key-value streams", has: /^KV_/ },
  { title: "The graph", has: /^(GRAPH_|INTROSPECTION|TRUSTED_DOCUMENTS)/ },
  { title: "Limits of callers", has: /^RATE_/ },
  { title: "A node of one's own", has: /^NODE_/ },
  { title: "Logs and metrics, and the rest", has: /./ },
];

/** The text of docs/configuration.md: every setting, from the same list that the product reads. */
export function configurationPage(): string {
  const names = Object.keys(SETTINGS) as Name[];
  const rooms = ROOMS.map(({ title }, n) => {
    const own = names.filter((name) => ROOMS.findIndex(({ has }) => has.test(name)) === n);
    return `## ${title}\n| Setting | Default | What it is | Example |\n|---|---|---|---|\n${own.map(row).join("\n")}\n`;
  });
  return `# Configuration
Every setting is an environment variable or a line of \`.env\` in the working directory, read once at the start; the environment wins, and \`ENV_FILE\` names another file; a mistake in any of them is named, with an example, before anything else happens. Without any of them a development network is started. [.env.example](../.env.example) has the same list to copy. This page is made from [src/config.ts](../src/config.ts) by \`npm run schema\`.

${rooms.join("\n")}`;
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

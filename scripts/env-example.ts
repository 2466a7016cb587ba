import { SETTINGS } from "../src/config.ts";

/** The text of `.env.example`: every setting with what it is for, its default where it has one, and an example. */
export function envExample(): string {
  const entries = Object.entries(SETTINGS).map(([name, { about, example, schema }]) => {
    const fallback = schema.safeParse(undefined);
    const known =
      fallback.success && fallback.data !== undefined ? ` (default ${String(fallback.data)})` : "";
    return `# ${about}${known}\n# ${name}=${example}\n`;
  });
  return `# Copy to .env in the folder you start from and uncomment what you change; without any setting, a development network is started.\n# A variable that is set in the environment wins. ENV_FILE names another file than .env.\n\n${entries.join("\n")}`;
}

import { SETTINGS } from "../src/config.ts";

/** The text of `.env.example`: every setting with its description, its default if it has one, and an example. */
export function envExample(): string {
  const entries = Object.entries(SETTINGS).map(([name, { about, example, schema }]) => {
    const fallback = schema.safeParse(undefined);
    const known =
      fallback.success && fallback.data !== undefined ? ` (default ${String(fallback.data)})` : "";
    return `# ${about}${known}\n# ${name}=${example}\n`;
  });
  return `# Copy to .env in the working directory and uncomment the settings you change. Without settings, a development network is started.\n# Environment variables take precedence. ENV_FILE names a file other than .env.\n\n${entries.join("\n")}`;
}

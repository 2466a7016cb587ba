import { SETTINGS } from "../src/config.ts";

/** The text of `.env.example`: every setting with what it is for, its default where it has one, and an example. */
export function envExample(): string {
  const entries = Object.entries(SETTINGS).map(([name, { about, example, schema }]) => {
    const fallback = schema.safeParse(undefined);
    const known =
      fallback.success && fallback.data !== undefined ? ` (default ${String(fallback.data)})` : "";
    return `# ${about}${known}\n# ${name}=${example}\n`;
  });
  return `# Copy to .env and uncomment what you change; without any setting, a development network is started.\n\n${entries.join("\n")}`;
}

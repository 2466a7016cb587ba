import { SETTINGS } from "../src/config.ts";
import type { Setting } from "../src/settings/values.ts";

/** The text of `.env.example`: every setting with its description, its default if it has one, and an example. */
export function envExample(): string {
  const entries = Object.entries<Setting>(SETTINGS).map(([name, { about, example, schema, isSecret }]) => {
    const fallback = schema.safeParse(undefined);
    const known =
      fallback.success && fallback.data !== undefined ? ` (default ${String(fallback.data)})` : "";
    const file = isSecret ? `. ${name}_FILE may name a file that contains it instead` : "";
    return `# ${about}${known}${file}\n# ${name}=${example}\n`;
  });
  return `# Copy this file to .env in the working directory and uncomment the settings that you change. Without any settings, a development network is started.\n# Environment variables take precedence. ENV_FILE names a file to read instead of .env.\n\n${entries.join("\n")}`;
}

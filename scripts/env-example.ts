import { SETTINGS } from "../src/config.ts";
import type { Setting } from "../src/settings/values.ts";

/** The text of `.env.example`: every setting with its description, its default if it has one, and an example. */
export function envExample(): string {
  const entries = Object.entries<Setting>(SETTINGS).map(([name, { about, example, schema, isSecret }]) => {
    const fallback = schema.safeParse(undefined);
    const known =
      fallback.success && fallback.data !== undefined ? ` (default ${String(fallback.data)})` : "";
    const file = isSecret ? `; or the path of a file that has it: ${name}_FILE` : "";
    return `# ${about}${known}${file}\n# ${name}=${example}\n`;
  });
  return `# Copy to .env in the working directory and uncomment the settings you change. Without settings, a development network is started.\n# Environment variables take precedence. ENV_FILE names a file other than .env.\n\n${entries.join("\n")}`;
}

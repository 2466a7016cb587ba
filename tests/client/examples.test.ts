import { resolve } from "node:path";
import { loadConfigFromFile } from "vite";
import { afterEach, expect, test, vi } from "vitest";

afterEach(() => vi.unstubAllEnvs());

test.each(["live-job", "apollo-requests", "urql-requests", "relay-requests"])(
  "the page of %s is built without the key, which only its server needs",
  async (name) => {
    vi.stubEnv("ZEROGRAPH_KEY", undefined);
    const load = (command: "build" | "serve") =>
      loadConfigFromFile(
        { command, mode: "production" },
        resolve("examples", name, "vite.config.ts"),
        undefined,
        "silent",
      );
    await expect(load("build")).resolves.toHaveProperty("config.root");
    await expect(load("serve")).rejects.toThrow("Set ZEROGRAPH_KEY");
    vi.stubEnv("ZEROGRAPH_KEY", "sk-1");
    await expect(load("serve")).resolves.toHaveProperty("config.preview.proxy");
  },
);

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { likelyMisspellings, SETTINGS } from "../../src/config.ts";
import { loadEnvFile } from "../../src/env-file.ts";
import { newFolder } from "../support/servers/process.ts";

function load(text: string, environment: Record<string, string | undefined> = {}) {
  const file = join(newFolder(), "settings.env");
  writeFileSync(file, text);
  loadEnvFile(Object.assign(environment, { ENV_FILE: file }), Object.keys(SETTINGS));
  const { ENV_FILE: _, ...values } = environment;
  return values;
}

test("settings are parsed as Node parses them, and a variable of the environment wins, even an empty one", () => {
  const text = "\uFEFFA=1\r\n# B=2\n\nexport C = 3 # three\nD=\"a # b\"\nE='x=y'\nF=\nG=file\nH=file\n";
  expect(load(text, { G: "own", H: "" })).toEqual({
    ...{ A: "1", C: "3", D: "a # b", E: "x=y", F: "" },
    ...{ G: "own", H: "" },
  });
});

test("of two lines with one name the last one counts", () => {
  expect(load("PORT=1\nA=x\nPORT=2\n")).toEqual({ PORT: "2", A: "x" });
  expect(load("PORT=1\nPORT=2\n", { PORT: "3" })).toEqual({ PORT: "3" });
});

test("lines that would be skipped, or would swallow the following lines, are reported", () => {
  const text = 'PORT=1\nNETWORK mainnet\nNETWORK: mainnet\nHOST="10.0.0.1\nDATA_DIR=x\n=5\nMY NAME=4\n';
  expect(() => load(text)).toThrow(
    /must be NAME=value, one a line: line 2, line 3, line 4, line 6, line 7\.$/,
  );
});

test("a name that resembles a setting is reported as a misspelling, and other names are ignored", () => {
  expect(() => load("NETWROK=mainnet\nREDIS_URI=redis://a\nNODE_ENV=production\n")).toThrow(
    /NETWROK is no setting, NETWORK is; REDIS_URI is no setting, REDIS_URL is\.$/,
  );
  expect(load("MY_PROVIDER_KEY=a\nHTTPS_PROXY=b\n")).toEqual({ MY_PROVIDER_KEY: "a", HTTPS_PROXY: "b" });
});

test("a variable of the environment that resembles a setting is named, unless that setting is set", () => {
  expect(
    likelyMisspellings({ DATABSE_URL: "a", ROUTER_PRIVATE_KEY_FIEL: "b", PATH: "c", HOME: "d" }),
  ).toEqual([
    "DATABSE_URL is no setting, DATABASE_URL is",
    "ROUTER_PRIVATE_KEY_FIEL is no setting, ROUTER_PRIVATE_KEY_FILE is",
  ]);
  expect(likelyMisspellings({ REDIS_URI: "a", REDIS_URL: "b" })).toEqual([]);
  const usual = [
    "HOSTNAME",
    "LOGNAME",
    "NODE_ENV",
    "NODE_OPTIONS",
    "HTTPS_PROXY",
    "NO_PROXY",
    "TZ",
    "USER",
    "SHELL",
    "LANG",
  ];
  const ofServices = [
    "KUBERNETES_PORT",
    "KUBERNETES_SERVICE_HOST",
    "REDIS_PORT",
    "REDIS_HOST",
    "POSTGRES_URL",
    "PGDATA",
  ];
  expect(
    likelyMisspellings(Object.fromEntries([...usual, ...ofServices].map((name) => [name, "a"]))),
  ).toEqual([]);
});

test("an empty ENV_FILE reads no file, and a folder is not accepted as a file", () => {
  const environment = { ENV_FILE: "" };
  loadEnvFile(environment, []);
  expect(environment).toEqual({ ENV_FILE: "" });
  expect(() => loadEnvFile({ ENV_FILE: newFolder() }, [])).toThrow(/^ENV_FILE: .* cannot be read \(EISDIR\)/);
});

test("the file is excluded from commits and container images", () => {
  const ignored = (list: string, pattern: RegExp) =>
    readFileSync(list, "utf8")
      .split("\n")
      .some((line) => pattern.test(line));
  expect([ignored(".gitignore", /^\.env$/), ignored(".dockerignore", /^(?:\*\*\/)?\.env$/)]).toEqual([
    true,
    true,
  ]);
});

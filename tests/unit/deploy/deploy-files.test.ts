// @module-tag large
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { environmentOfStage, readIgnored, readStages } from "../../../scripts/dockerfile.ts";
import { grafanaDashboards, metricHelp, metricsIn } from "../../../scripts/grafana.ts";
import { SECRETS, SETTINGS } from "../../../src/config.ts";
import { environmentOf, findProgram } from "../../support/servers/debian-package.ts";
import { nameOf, render, type Tree } from "./kustomize.ts";

const OVERLAYS = ["small", "production"].map((name) => `docs/deploy/kubernetes/overlays/${name}`);
const compose = parse(readFileSync("docs/deploy/compose.yaml", "utf8"), { merge: true }) as {
  services: Record<string, { image: string; environment?: Record<string, string> } & Tree>;
};
const own = Object.entries(compose.services).filter(([, { image }]) => image === "zerograph");

/** Every variable is a setting, and a secret without a file is an address without a password. */
function requireSettings(environment: Readonly<Record<string, unknown>>): void {
  const files = SECRETS.map((name) => `${name}_FILE`);
  for (const [name, value] of Object.entries(environment)) {
    expect([...Object.keys(SETTINGS), ...files, "NODE_ENV", "MALLOC_ARENA_MAX"], name).toContain(name);
    if (SECRETS.includes(name)) expect(value, name).toMatch(/^\w+:\/\/(?:\w+@)?[\w.:/]+$/);
  }
}

test("every variable of the image and of Compose is a setting, and secrets are files", () => {
  const [, image] = readStages();
  if (image) requireSettings(environmentOfStage(image));
  expect(own).toHaveLength(7);
  for (const [, { environment = {} }] of own) requireSettings(environment);
});

test("wallets can sign in at the public URL of every deployment, since no other way makes the first key", () => {
  const overlays = OVERLAYS.map((folder) => render(folder).find(({ kind }) => kind === "ConfigMap")?.data);
  const all = [...overlays, ...own.map(([, { environment }]) => environment)];
  expect(all).toHaveLength(9);
  for (const settings of all as Record<string, string>[]) {
    expect(settings.PUBLIC_URL).toMatch(/^https:\/\//);
    expect(settings.SIGN_IN_ORIGINS?.split(",")).toContain(settings.PUBLIC_URL);
  }
});

test("no pod reaches the metadata service of a cloud", () => {
  const policies = render(OVERLAYS[0] ?? "").filter(({ kind }) => kind === "NetworkPolicy");
  const egress = policies.find((policy) => nameOf(policy) === "egress");
  for (const address of ["169.254.0.0/16", "100.100.100.200/32", "fd00:ec2::254/128"])
    expect(JSON.stringify(egress)).toContain(address);
});

test("every process of Compose runs without privileges, and every service has a health check", () => {
  for (const [, service] of own)
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
    });
  for (const [name, { healthcheck }] of Object.entries(compose.services))
    expect(healthcheck, name).toHaveProperty(name === "migrate" ? "disable" : "test");
});

test("the image limits the memory of its processes as scripts/node does", () => {
  const script = readFileSync("scripts/node", "utf8");
  const [, image] = readStages();
  const arenas = /MALLOC_ARENA_MAX=\$\{MALLOC_ARENA_MAX:-(\d+)\}/.exec(script)?.[1];
  expect(image && environmentOfStage(image).MALLOC_ARENA_MAX).toBe(arenas);
  const [youngObjects = ""] = /--max-semi-space-size=\d+/.exec(script) ?? [];
  expect(readFileSync("scripts/zerograph", "utf8").split("\n")[0]).toContain(youngObjects);
});

test("the image runs without root, and its build sees no secrets, data or tests", () => {
  const [, image] = readStages();
  const textOf = (wanted: string) => image?.steps.find(({ name }) => name === wanted)?.text;
  expect([textOf("USER"), textOf("ENTRYPOINT")]).toEqual(["65532:65532", '["/usr/local/bin/zerograph"]']);
  const isIgnored = readIgnored();
  for (const path of [
    ".env",
    "docs/deploy/.env",
    "src/.env.local",
    ".data/postgres/x",
    ".git/config",
    "tests/x.ts",
    "gateway/server.pem",
    "src/node_modules/x",
  ])
    expect(isIgnored(path), path).toBe(true);
  for (const path of [
    "package-lock.json",
    "src/app.ts",
    "scripts/zerograph",
    "gateway/dashboard/vite.config.ts",
    "schema/api.graphql",
  ])
    expect(isIgnored(path), path).toBe(false);
});

test.each(OVERLAYS)("%s is valid for Kubernetes, and what it refers to exists", async (folder) => {
  const objects = render(folder);
  const named = (kind: string) =>
    objects.filter((object) => object.kind === kind).map((object) => String((object.metadata as Tree).name));
  for (const object of objects) {
    const { apiVersion, kind, metadata } = object as { apiVersion: string; kind: string; metadata: Tree };
    const models = (await import(/* @vite-ignore */ `kubernetes-models/${apiVersion}`)) as Record<
      string,
      new (
        data: Tree,
      ) => { validate(): void }
    >;
    const Model = models[kind];
    if (!Model) throw new Error(`there is no ${apiVersion} ${kind}`);
    expect(() => new Model(object).validate(), `${kind} ${metadata.name}`).not.toThrow();
    expect(metadata.namespace).toBe("zerograph");
    const target = (object.spec as { scaleTargetRef?: { name: string } } | undefined)?.scaleTargetRef?.name;
    if (!target) continue;
    const scaled = objects.find((other) => other.kind === "Deployment" && nameOf(other) === target);
    // A number would undo the autoscaler's choice with each `kubectl apply`.
    expect((scaled?.spec as Tree | undefined)?.replicas, target).toBeUndefined();
  }
  const settings = objects.find(({ kind }) => kind === "ConfigMap")?.data as Record<string, string>;
  requireSettings(settings);
  const hosts = Object.entries(settings).filter(([, value]) => /^http:\/\/\w+:4100$/.test(value));
  expect(hosts.map(([, value]) => new URL(value).hostname).sort()).toEqual(
    named("Service")
      .filter((name) => name !== "gateway")
      .sort(),
  );
});

test.each(OVERLAYS)("every pod of %s is restricted, probed and reads its secrets from files", (folder) => {
  const pods = render(folder).filter(({ kind }) => kind === "Deployment" || kind === "Job");
  expect(pods).toHaveLength(7);
  for (const { kind, spec } of pods) {
    const template = (spec as { template: { metadata: Tree; spec: Tree & { containers: Tree[] } } }).template;
    expect(template.metadata.labels).toMatchObject({ "app.kubernetes.io/part-of": "zerograph" });
    expect(template.spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      volumes: expect.arrayContaining([
        { name: "secrets", secret: { secretName: "zerograph", defaultMode: 0o440 } },
      ]),
    });
    expect(template.spec.containers).toHaveLength(1);
    expect(template.spec.containers[0]).toMatchObject({
      image: "registry.example.com/zerograph:0.1.0",
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      },
      volumeMounts: expect.arrayContaining([{ name: "secrets", mountPath: "/secrets", readOnly: true }]),
      ...(kind === "Deployment" && {
        livenessProbe: expect.objectContaining({ httpGet: { path: "/healthz", port: "metrics" } }),
        readinessProbe: expect.objectContaining({ httpGet: { path: "/readyz", port: "metrics" } }),
      }),
    });
  }
});

/** Debian's promtool, or undefined, said aloud, where it cannot be had. */
async function findPromtool() {
  const promtool = await findProgram({
    names: ["promtool"],
    variable: "PROMTOOL",
    debianPackage: "prometheus",
    path: "usr/bin/promtool",
  }).catch((error: Error) => error);
  if (promtool instanceof Error) {
    if (process.env.REQUIRE_ALL) throw promtool;
    console.warn(`SKIPPED, what promtool checks: ${promtool.message}`);
    return undefined;
  }
  return (...args: string[]) => promisify(execFile)(promtool.bin, args, { env: environmentOf(promtool) });
}

test("the alerts pass their own tests by promtool", async ({ skip }) => {
  const run = await findPromtool();
  if (!run) return skip();
  expect((await run("check", "rules", "docs/deploy/alerts.yaml")).stdout).toContain(
    "SUCCESS: 14 rules found",
  );
  expect((await run("test", "rules", "docs/deploy/alerts.test.yaml")).stdout).toContain("SUCCESS");
  const tests = readFileSync("docs/deploy/alerts.test.yaml", "utf8");
  for (const [, name = ""] of readFileSync("docs/deploy/alerts.yaml", "utf8").matchAll(/- alert: (\w+)/g))
    expect(tests, `a test in which ${name} fires`).toMatch(
      new RegExp(`alertname: ${name}\\n\\s+exp_alerts: \\[\\{`),
    );
});

test("the committed dashboards are generated, and show every metric of the product", async () => {
  const generated = await grafanaDashboards();
  expect(readdirSync("docs/deploy/grafana").sort()).toEqual([...generated.keys()].sort());
  for (const [name, text] of generated)
    expect(readFileSync(`docs/deploy/grafana/${name}`, "utf8"), `${name}: run npm run schema`).toBe(text);
  const shown = new Set([...generated.values()].flatMap((text) => metricsIn(text)));
  const own = [...(await metricHelp()).keys()].filter((name) => /^(?:zerograph|gen_ai|http)_/.test(name));
  expect(own.filter((name) => !shown.has(name))).toEqual([]);
});

test("every expression of the dashboards is valid for Prometheus", async ({ skip, onTestFinished }) => {
  const run = await findPromtool();
  if (!run) return skip();
  const folder = mkdtempSync(join(tmpdir(), "dashboards-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  type Dashboard = { panels: { targets: { expr: string }[] }[] };
  const expressions = [...(await grafanaDashboards()).values()]
    .flatMap((text) => (JSON.parse(text) as Dashboard).panels)
    .flatMap(({ targets }) => targets.map(({ expr }) => expr.replaceAll("$__rate_interval", "5m")));
  const rules = expressions.map((expr, n) => ({ record: `panel:${n}`, expr }));
  const path = join(folder, "rules.yaml");
  writeFileSync(path, JSON.stringify({ groups: [{ name: "panels", rules }] }));
  expect((await run("check", "rules", path)).stdout).toContain(`SUCCESS: ${rules.length} rules found`);
});

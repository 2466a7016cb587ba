// @module-tag large
import { describe, expect, test, vi } from "vitest";
import { ProviderFailure } from "../../src/inference/providers/exchange/provider-failure.ts";
import { AheadClock } from "../support/ahead-clock.ts";
import { MODEL } from "../support/chain/network.ts";
import { useStack } from "../support/stack.ts";

const FRESH_MS = 10_000;

type StatusJson = {
  readonly state: string;
  readonly models: readonly {
    readonly id: string;
    readonly days: readonly object[];
    readonly providers: object;
  }[];
  readonly incidents: readonly object[];
};

describe("without STATUS_PAGE", () => {
  const stack = useStack();

  test("there is no status page", async () => {
    for (const path of ["/status", "/status.json"]) {
      expect((await fetch(`${stack().origin}${path}`)).status).toBe(404);
      const browser = await fetch(`${stack().origin}${path}`, { headers: { accept: "text/html" } });
      expect(browser.status).toBe(404);
      expect(await browser.text()).toContain("Page not found");
    }
  });
});

describe("with STATUS_PAGE=on", () => {
  const clock = new AheadClock();
  const stack = useStack({ STATUS_PAGE: "on" }, undefined, clock);
  const get = (path: string, init: RequestInit = {}) => fetch(`${stack().origin}${path}`, init);
  const json = async () => (await get("/status.json")).json() as Promise<StatusJson>;
  const offer = () => {
    const found = stack()
      .app.catalogue.providers()
      .find(({ model }) => model === MODEL);
    if (!found) throw new Error("the model has no provider");
    return found;
  };

  test("everyone sees models and providers, as HTML and as JSON, whatever they accept", async () => {
    for (const accept of ["text/html", "*/*", "application/json", "", ",;q=", "\u00ff".repeat(4_000)]) {
      const page = await get("/status?a=%00", { headers: { accept } });
      expect(page.status).toBe(200);
      expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(await page.text()).toContain("All models are operational");
      const asJson = await get("/status.json", { headers: { accept } });
      expect(asJson.headers.get("content-type")).toBe("application/json; charset=utf-8");
      expect(asJson.headers.get("cache-control")).toBe("public, max-age=10");
    }
    const { models, ...status } = await json();
    expect(status).toMatchObject({ state: "operational", unlisted_models: 0, incidents: [] });
    const model = models.find(({ id }) => id === MODEL);
    expect(model).toMatchObject({ service_type: "chatbot", state: "operational", uptime: null });
    expect(model?.days).toHaveLength(30);
    expect(model?.providers).toEqual([
      { address: offer().address, state: "operational", uptime: null, latency_ms: null },
    ]);
    const head = await get("/status", { method: "HEAD" });
    expect(head.status).toBe(200);
    expect(await head.text()).toBe("");
    expect((await get("/status", { method: "POST" })).status).toBe(405);
  });

  test("every response has its own nonce, and its policy allows nothing but the style that has it", async () => {
    const nonces = new Set<string>();
    for (let n = 0; n < 3; n++) {
      const reply = await get("/status");
      const [, nonce = ""] =
        /^default-src 'none'; style-src 'nonce-([^']+)'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/.exec(
          reply.headers.get("content-security-policy") ?? "",
        ) ?? [];
      const text = await reply.text();
      expect(text).toContain(`<style nonce="${nonce}">`);
      expect(text).not.toMatch(/<script| style="| on\w+="/);
      nonces.add(nonce);
    }
    expect(nonces.size).toBe(3);
  });

  test("what failed is an incident, read once for all who look within 10 s", async () => {
    const { app } = stack();
    const read = vi.spyOn(app.healthHistory, "failingHours");
    clock.advance(FRESH_MS);
    await Promise.all(Array.from({ length: 20 }, () => json()));
    expect(read).toHaveBeenCalledTimes(1);
    const before = await json();

    for (let n = 0; n < 4; n++) app.health.begin(offer()).fail(new ProviderFailure("failed"));
    await app.healthHistory.flush();
    await app.processes.report();
    expect(await json()).toEqual(before);
    // The history of providers is given again for half a minute.
    clock.advance(3 * FRESH_MS);
    const { state, models, incidents } = await json();
    expect(read).toHaveBeenCalledTimes(2);
    expect(state).toBe("unavailable");
    const model = models.find(({ id }) => id === MODEL);
    expect(model).toMatchObject({ state: "unavailable", uptime: 0, providers: [{ state: "unavailable" }] });
    expect(model?.days.at(-1)).toMatchObject({ uptime: 0 });
    expect(incidents).toEqual([
      {
        ...{ provider: offer().address.toLowerCase(), model: MODEL, ended_at: null, failed_share: 1 },
        started_at: expect.stringMatching(/:00:00\.000Z$/),
      },
    ]);
    const page = await (await get("/status")).text();
    expect(page).toContain("All models are unavailable");
    expect(page).toContain("100 % of requests failed");
    expect(page).toContain("Ongoing");
    app.health.close(offer());
  });
});

describe("with a rate limit", () => {
  const stack = useStack({ STATUS_PAGE: "on", RATE_LIMIT_PER_ADDRESS: "2" });

  test("requests for the status are counted as others without a credential", async () => {
    const statuses: number[] = [];
    for (const path of ["/status", "/status.json", "/status", "/status.json"]) {
      const reply = await fetch(`${stack().origin}${path}`, { headers: { authorization: "Bearer sk-any" } });
      statuses.push(reply.status);
      if (reply.status === 429) {
        expect(reply.headers.get("retry-after")).toMatch(/^\d+$/);
        expect(await reply.json()).toMatchObject({ error: { code: "rate_limit_exceeded" } });
      }
    }
    expect(statuses).toEqual([200, 200, 429, 429]);
  });
});

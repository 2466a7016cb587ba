import { expect, test } from "vitest";
import {
  latencyOf,
  type Sortable,
  searchModels,
  uptimeOf,
} from "../../../gateway/dashboard/app/pages/models/models-search.ts";
import { modelsSearch } from "../../../gateway/dashboard/app/pages/models/models-url.ts";

const IDLE = { latencyMs: null, uptimePercent: null };
const ADDRESS = `0x${"Ab".repeat(20)}`;

function model(modelId: string, more: Partial<Sortable> = {}): Sortable {
  const profile = { contextLength: null, description: null, inputModalities: null, outputModalities: null };
  return {
    ...{ modelId, name: modelId, serviceType: "CHATBOT", pricing: { input: "1", output: "1" }, profile },
    ...{
      recentHealth: null,
      providers: [{ address: ADDRESS, trustMode: "STANDARD", health: IDLE }],
      ...more,
    },
  };
}

const observed = (requestCount: number, failedCount: number, p50Ms: number | null) => ({
  recentHealth: { requestCount, failedCount, p50Ms },
});
const ids = (models: readonly Sortable[]) => models.map(({ modelId }) => modelId);

test("models are found by words of their name, service and description, by modality, trust and provider", () => {
  const painter = model("painter", { serviceType: "TEXT_TO_IMAGE" });
  const seer = model("seer", {
    profile: {
      contextLength: 1,
      description: "Reads pictures",
      inputModalities: ["text", "image"],
      outputModalities: null,
    },
    providers: [{ address: `0x${"1".repeat(40)}`, trustMode: "PRIVATE", health: IDLE }],
  });
  const all = [seer, painter, model("Alto")];
  expect(ids(searchModels(all, {}))).toEqual(["Alto", "painter", "seer"]);
  expect(ids(searchModels(all, { q: " PICTURES chat " }))).toEqual(["seer"]);
  expect(ids(searchModels(all, { modality: "image" }))).toEqual(["painter", "seer"]);
  expect(ids(searchModels(all, { trust: "PRIVATE" }))).toEqual(["seer"]);
  expect(ids(searchModels(all, { provider: ADDRESS.toLowerCase() }))).toEqual(["Alto", "painter"]);
});

test("models are sorted by price, latency and uptime, those without the value last in both directions", () => {
  const huge = { input: "9007199254740993000", output: "1" };
  const all = [
    model("none", { pricing: null }),
    model("slow", { pricing: huge, ...observed(100, 1, 900) }),
    model("fast", { pricing: { ...huge, output: "0" }, ...observed(100, 50, 20) }),
  ];
  expect(ids(searchModels(all, { sort: "PRICE" }))).toEqual(["fast", "slow", "none"]);
  expect(ids(searchModels(all, { sort: "-PRICE" }))).toEqual(["slow", "fast", "none"]);
  expect(ids(searchModels(all, { sort: "LATENCY" }))).toEqual(["fast", "slow", "none"]);
  expect(ids(searchModels(all, { sort: "-UPTIME" }))).toEqual(["slow", "fast", "none"]);
});

test("what is not a filter in the URL is ignored", () => {
  expect(modelsSearch.parse({ sort: "-SECRET", trust: "ALL", provider: "0x1", q: "a".repeat(101) })).toEqual(
    {},
  );
  expect(modelsSearch.parse({ sort: "-PRICE", trust: "PRIVATE" })).toEqual({
    sort: "-PRICE",
    trust: "PRIVATE",
  });
});

test("uptime and latency are of 30 days, of the present while no request is stored yet, and unknown without requests", () => {
  const busy = { latencyMs: 12, uptimePercent: 90 };
  const best = { latencyMs: 8, uptimePercent: 99 };
  expect(uptimeOf(null, [IDLE])).toBeUndefined();
  expect(latencyOf(null, [])).toBeUndefined();
  expect(uptimeOf({ requestCount: 0, failedCount: 0, p50Ms: null }, [])).toBeUndefined();
  expect(uptimeOf({ requestCount: 4, failedCount: 1, p50Ms: 30 }, [best])).toBe(0.75);
  expect(latencyOf({ requestCount: 4, failedCount: 1, p50Ms: 30 }, [best])).toBe(30);
  expect(uptimeOf(null, [busy, best, IDLE])).toBe(0.99);
  expect(latencyOf(null, [busy, best, IDLE])).toBe(8);
});

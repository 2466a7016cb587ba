import { expect, test } from "vitest";
import { requirePossiblePorts } from "../../../gateway/ports.ts";
import { readConfig } from "../../../src/config.ts";

function refusalOf(settings: Record<string, string>, count = 1, role = "all"): string | undefined {
  try {
    requirePossiblePorts(role, readConfig(settings), count);
  } catch (error) {
    return (error as Error).message;
  }
}

test("metrics ports beyond the last port are refused with the range that the processes need", () => {
  expect(refusalOf({ METRICS_PORT: "65535" }, 2)).toBe(
    "METRICS_PORT: 2 processes need the ports 65535 to 65536, but the last port is 65535. Set METRICS_PORT to at most 65534.",
  );
  expect(refusalOf({ METRICS_PORT: "65534" }, 2)).toBeUndefined();
  expect(refusalOf({ METRICS_PORT: "65535" })).toBeUndefined();
  expect(refusalOf({ METRICS_PORT: "65535" }, 2, "worker")).toContain("65535 to 65536");
});

test("a port that clients and metrics both need is refused, for the role that uses it", () => {
  expect(refusalOf({ PORT: "4199", METRICS_PORT: "4199" })).toBe(
    "METRICS_PORT: PORT is 4199 too. Set METRICS_PORT to another port.",
  );
  const split = { PORT: "4185", METRICS_PORT: "4184" };
  expect(refusalOf(split)).toBeUndefined();
  for (const role of ["all", "gateway"])
    expect(refusalOf(split, 2, role)).toBe(
      "METRICS_PORT: 2 processes need the ports 4184 to 4185, but PORT is 4185. Set METRICS_PORT so that none of its ports is PORT.",
    );
  for (const role of ["worker", "subgraph"]) expect(refusalOf(split, 2, role)).toBeUndefined();
  // The default of SUBGRAPH_PORT.
  expect(refusalOf({ METRICS_PORT: "4100" }, 1, "subgraph")).toMatch(/SUBGRAPH_PORT is 4100 too/);
  expect(refusalOf({ METRICS_PORT: "4100" })).toBeUndefined();
});

test("the same port at addresses that exclude each other is not refused", () => {
  const port = { PORT: "4199", METRICS_PORT: "4199" };
  const at = (HOST: string, METRICS_HOST: string) => refusalOf({ ...port, HOST, METRICS_HOST });
  expect(at("127.0.0.1", "127.0.0.2")).toBeUndefined();
  expect(at("0.0.0.0", "::1")).toBeUndefined();
  for (const [host = "", metricsHost = ""] of [
    ["0.0.0.0", "127.0.0.1"],
    ["127.0.0.1", "0.0.0.0"],
    ["::", "127.0.0.1"],
    ["localhost", "127.0.0.1"],
  ])
    expect(at(host, metricsHost)).toMatch(/^METRICS_PORT: PORT is 4199 too/);
});

test("ports that are chosen at the start, and processes without metrics, are not refused", () => {
  expect(refusalOf({ PORT: "0", METRICS_PORT: "0" }, 4)).toBeUndefined();
  expect(refusalOf({ PORT: "4199" }, 256)).toBeUndefined();
  expect(refusalOf({ PORT: "0", METRICS_PORT: "4184" }, 4)).toBeUndefined();
});

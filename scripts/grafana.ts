import { Metrics } from "../src/metrics/metrics.ts";
import { DASHBOARDS, type Panel } from "./grafana-panels.ts";

/** The help of each metric of a process, by its name. */
export async function metricHelp(): Promise<ReadonlyMap<string, string>> {
  const metrics = new Metrics();
  metrics.sample({
    holdsOpen: async () => 0,
    relayLagSeconds: async () => 0,
    takenPositions: () => 0,
    droppedSpans: () => 0,
    replicaLagSeconds: () => 0,
    clockOffsetSeconds: () => 0,
    watchers: async () => [],
    jobs: async () => ({ waiting: 0, running: 0, oldestWaitingSeconds: 0 }),
    webhookLagSeconds: async () => 0,
    databasePool: () => ({ open: 0, idle: 0, waiting: 0 }),
    redis: async () => true,
    walletBalance: async () => 0n,
    eventStreamsOpen: () => 0,
    requestMemoryBytes: () => 0,
    eventLoopDelaySeconds: () => 0,
    circuits: () => [],
  });
  const { body } = await metrics.text();
  const lines = body.matchAll(/^# HELP (\S+) (.+)$/gm);
  return new Map([...lines].map(([, name = "", help = ""]) => [name, help]));
}

/** The metrics that an expression reads. */
export function metricsIn(expression: string): readonly string[] {
  const names = expression.match(/\b(?:zerograph|gen_ai_client|http_server|process|nodejs)_\w+/g) ?? [];
  return [...new Set(names.map((name) => name.replace(/_(?:bucket|count|sum)$/, "")))];
}

/** Every Grafana dashboard as JSON, by the name of its file. Throws for an expression with an unknown metric. */
export async function grafanaDashboards(): Promise<ReadonlyMap<string, string>> {
  const help = await metricHelp();
  return new Map(
    Object.entries(DASHBOARDS).map(([name, { title, panels }]) => {
      const dashboard = {
        uid: `zerograph-${name}`,
        title: `zerograph: ${title}`,
        tags: ["zerograph"],
        editable: true,
        schemaVersion: 39,
        refresh: "30s",
        time: { from: "now-6h", to: "now" },
        templating: {
          list: [{ name: "datasource", label: "Data source", type: "datasource", query: "prometheus" }],
        },
        links: [
          { type: "dashboards", title: "zerograph", tags: ["zerograph"], asDropdown: true, keepTime: true },
        ],
        panels: panels.map((panel, at) => toPanel(panel, at, help)),
      };
      return [`${name}.json`, `${JSON.stringify(dashboard, null, 2)}\n`] as const;
    }),
  );
}

const WIDTH = 12;
const HEIGHT = 8;

function toPanel({ title, unit = "short", queries }: Panel, at: number, help: ReadonlyMap<string, string>) {
  const datasource = { type: "prometheus", uid: `\${datasource}` };
  const names = new Set(queries.flatMap(([expression]) => metricsIn(expression)));
  const texts = [...names].map((name) => {
    const text = help.get(name);
    if (text === undefined) throw new Error(`${title}: there is no metric ${name}`);
    return `${name}: ${text}`;
  });
  return {
    id: at + 1,
    type: "timeseries",
    title,
    description: texts.join("\n\n"),
    datasource,
    gridPos: { x: (at % 2) * WIDTH, y: Math.floor(at / 2) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: {
      defaults: { unit, min: 0, custom: { fillOpacity: 10, showPoints: "never" } },
      overrides: [],
    },
    options: {
      legend: { displayMode: "list", placement: "bottom" },
      tooltip: { mode: "multi", sort: "desc" },
    },
    targets: queries.map(([expr, legendFormat], n) => ({
      refId: String.fromCharCode(65 + n),
      ...{ datasource, expr, legendFormat },
    })),
  };
}

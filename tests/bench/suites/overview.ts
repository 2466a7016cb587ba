import { readFileSync } from "node:fs";
import { quantile } from "../load.ts";

const QUERY_FILE = "gateway/dashboard/app/pages/overview/overview-query.ts";
const DAY_MS = 86_400_000;
const RUNS = 15;

/** The time of the first query of the dashboard's overview over HTTP, as its page sends it, for each of its ranges. */
export async function benchOverview(
  { origin, secret }: { readonly origin: string; readonly secret: string },
  print: (line: string) => void,
): Promise<void> {
  const query = overviewQuery();
  for (const days of [1, 7, 30, 90])
    for (const group of ["MODEL", "API_KEY", "PROVIDER"]) {
      const body = JSON.stringify({ query, variables: variablesOf(days, group) });
      const times: number[] = [];
      for (let run = 0; run < RUNS; run++) {
        const startedMs = performance.now();
        const answer = await fetch(`${origin}/graphql`, {
          ...{ method: "POST", body },
          headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
        });
        const { errors } = (await answer.json()) as { errors?: readonly { message: string }[] };
        times.push(performance.now() - startedMs);
        if (errors) throw new Error(`the overview failed: ${errors[0]?.message}`);
      }
      times.sort((one, other) => one - other);
      const [median, longest] = [quantile(times, 0.5), quantile(times, 1)].map((ms) => ms.toFixed(1));
      print(`  ${median} ms, at most ${longest} ms  overview of ${days} days by ${group.toLowerCase()}`);
    }
}

/** The text of the page's query. */
function overviewQuery(): string {
  const [, text] = /graphql\(`([^`]+)`\)/.exec(readFileSync(QUERY_FILE, "utf8")) ?? [];
  if (text === undefined) throw new Error(`${QUERY_FILE} has no query`);
  return text;
}

function variablesOf(days: number, group: string) {
  const before = Math.ceil(Date.now() / DAY_MS) * DAY_MS;
  const times = { from: new Date(before - days * DAY_MS), before: new Date(before) };
  return {
    ...{ ...times, week: new Date(before - 7 * DAY_MS), by: days === 1 ? "HOUR" : "DAY", groupBy: [group] },
    failed: { statuses: ["FAILED"], createdAt: times },
  };
}

import type { Incident } from "../../src/inference/providers/health/incidents.ts";
import type { ModelStatus, ServiceState, Status, StatusDay } from "../../src/operations/status.service.ts";
import { escapeHtml } from "./escape-html.ts";

/** From this share of failed requests on, a day was bad. */
const BAD_UPTIME = 0.95;
const BAR = 6;
const STEP = 8;
const HEIGHT = 28;

const STATES: Readonly<Record<ServiceState, string>> = {
  operational: "Operational",
  degraded: "Degraded",
  unavailable: "Unavailable",
};
const SENTENCES: Readonly<Record<ServiceState, string>> = {
  operational: "All models are operational",
  degraded: "Some providers are unavailable",
  unavailable: "All models are unavailable",
};

/** The status page as HTML; its one style carries `nonce`. Names of models, which anyone may choose, are escaped. */
export function statusPage(status: Status, nonce: string): string {
  const { asOf, state, models, unlistedModels, incidents } = status;
  const isEmpty = models.length === 0;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${isEmpty ? "No models" : SENTENCES[state]} · zerograph status</title>
<style nonce="${nonce}">${CSS}</style>
<main>
<header>
<p class="brand">zerograph <span>status</span></p>
<div class="banner ${isEmpty ? "none" : state}"><h1>${isEmpty ? "No models are offered yet" : SENTENCES[state]}</h1>
<p>As of ${timeOf(asOf)}</p></div>
</header>
<section aria-labelledby="models"><h2 id="models">Models</h2>
${isEmpty ? '<p class="quiet">A model appears here once a provider offers it.</p>' : `<ul class="models">${models.map(modelItem).join("\n")}</ul>`}
${unlistedModels > 0 ? `<p class="quiet">${unlistedModels} more models are not listed.</p>` : ""}
</section>
<section aria-labelledby="incidents"><h2 id="incidents">Incidents of the last 30 days</h2>
${incidents.length === 0 ? '<p class="quiet">None.</p>' : `<ol class="incidents">${incidents.map(incidentItem).join("\n")}</ol>`}
</section>
<footer><p>Times are in UTC. Uptime is the share of requests that providers answered, latency the time to the first byte, both of the last 30 days. <a href="/status.json">As JSON</a></p></footer>
</main>
</html>
`;
}

function modelItem(model: ModelStatus): string {
  const { id, serviceType, state, uptime, latency, days, providers } = model;
  const name = escapeHtml(shortened(id));
  return `<li><div class="row"><h3><bdi>${name}</bdi> <small>${serviceType}</small></h3>${pill(state)}</div>
${bars(days, name)}
<div class="scale" aria-hidden="true"><span>30 days ago</span><span>${uptime === undefined ? "no requests" : `${percent(uptime)} uptime`}</span><span>Today</span></div>
${latency ? `<p class="figures">Latency ${milliseconds(latency.p50Ms)}, 95 % within ${milliseconds(latency.p95Ms)}</p>` : ""}
<details><summary>${providers.length} ${providers.length === 1 ? "provider" : "providers"}</summary><ul class="providers">${providers
    .map(
      (provider) =>
        `<li><code>${escapeHtml(provider.address)}</code><span class="facts">${provider.uptime === undefined ? "no requests" : `${percent(provider.uptime)} uptime`}${provider.latency ? `, ${milliseconds(provider.latency.p50Ms)}` : ""}</span>${pill(provider.state)}</li>`,
    )
    .join("")}</ul></details></li>`;
}

function incidentItem({ provider, model, startedAt, endedAt, failedShare }: Incident): string {
  const what =
    failedShare === undefined
      ? "requests failed repeatedly"
      : `${Math.round(failedShare * 100)} % of requests failed`;
  return `<li><p class="row"><strong><bdi>${escapeHtml(shortened(model))}</bdi>: ${what}</strong>${endedAt ? "" : pill("unavailable", "Ongoing")}</p>
<p class="quiet">${timeOf(startedAt)} – ${endedAt ? timeOf(endedAt) : "now"} · provider <code>${escapeHtml(provider)}</code></p></li>`;
}

/** A bar for each day, all bars of one tone as one path, and in words. */
function bars(days: readonly StatusDay[], name: string): string {
  const paths = { good: "", busy: "", bad: "", none: "" };
  for (const [n, day] of days.entries()) {
    const tone = toneOf(day);
    paths[tone] += `M${n * STEP} 0h${BAR}v${HEIGHT}h-${BAR}z`;
  }
  const badDays = days.filter((day) => toneOf(day) === "bad").length;
  const label = `${name}: the last 30 days, ${badDays} bad ${badDays === 1 ? "day" : "days"}`;
  const width = days.length * STEP - (STEP - BAR);
  return `<svg class="bars" role="img" aria-label="${label}" viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none">${Object.entries(
    paths,
  )
    .map(([tone, path]) => (path ? `<path class="${tone}" d="${path}"/>` : ""))
    .join("")}</svg>`;
}

function toneOf({ uptime }: StatusDay): "good" | "busy" | "bad" | "none" {
  if (uptime === undefined) return "none";
  if (uptime === 1) return "good";
  return uptime >= BAD_UPTIME ? "busy" : "bad";
}

function pill(state: ServiceState, text = STATES[state]): string {
  return `<span class="pill ${state}">${text}</span>`;
}

/** Rounded down, so that only a share of 1 is 100 %. */
function percent(share: number): string {
  return share === 1 ? "100 %" : `${(Math.floor(share * 10_000) / 100).toFixed(2)} %`;
}

function milliseconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

function timeOf(at: Date): string {
  const iso = at.toISOString();
  return `<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)}</time>`;
}

const MAX_NAME = 120;

function shortened(name: string): string {
  return name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME)}…`;
}

const CSS = `
:root { color-scheme: light dark; --ground: light-dark(#f7f8fa, #14161b); --card: light-dark(#fff, #1c1f26); --line: light-dark(#dfe3ea, #31363f); --text: light-dark(#1a1d24, #e8eaf0); --quiet: light-dark(#5a6272, #a3abbb); --accent: light-dark(#3049c5, #8ea2ff); --good: light-dark(#17784a, #4cc38a); --busy: light-dark(#8a5a00, #e2b04a); --bad: light-dark(#b3261e, #ff8b83); --none: light-dark(#dde2ea, #2c313a) }
* { box-sizing: border-box }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; background: var(--ground); color: var(--text) }
main { max-width: 52rem; margin: 0 auto; padding: 2.5rem 1rem 3rem }
h1 { font-size: 1.3rem; margin: 0 } h2 { font-size: 1.05rem; margin: 2.5rem 0 .75rem } h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; min-width: 0 } h3 small { font-weight: 400; color: var(--quiet); margin-left: .35rem; white-space: nowrap }
p { margin: 0 } a { color: var(--accent) } code { font: .82em ui-monospace, monospace; overflow-wrap: anywhere }
.brand { font-weight: 650; margin-bottom: 1.25rem } .brand span { font-weight: 400; color: var(--quiet) }
.banner { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: .25rem 1rem; background: var(--card); border: 1px solid var(--line); border-left: 5px solid var(--none); border-radius: 10px; padding: 1rem 1.25rem }
.banner p, .quiet, .figures, .scale, footer { color: var(--quiet); font-size: .9rem }
.banner.operational { border-left-color: var(--good) } .banner.degraded { border-left-color: var(--busy) } .banner.unavailable { border-left-color: var(--bad) }
ul, ol { list-style: none; margin: 0; padding: 0 }
.models, .incidents { background: var(--card); border: 1px solid var(--line); border-radius: 10px }
.models > li, .incidents > li { padding: 1rem 1.25rem } .models > li + li, .incidents > li + li { border-top: 1px solid var(--line) }
.row { display: flex; align-items: flex-start; justify-content: space-between; gap: 1rem; overflow-wrap: anywhere }
.pill { flex: none; font-size: .82rem; font-weight: 550; white-space: nowrap } .pill::before { content: ""; display: inline-block; width: .55em; height: .55em; border-radius: 50%; background: currentColor; margin-right: .4em }
.pill.operational { color: var(--good) } .pill.degraded { color: var(--busy) } .pill.unavailable { color: var(--bad) }
.bars { display: block; width: 100%; height: ${HEIGHT}px; margin: .75rem 0 .35rem } .good { fill: var(--good) } .busy { fill: var(--busy) } .bad { fill: var(--bad) } path.none { fill: var(--none) }
.scale { display: flex; justify-content: space-between; gap: .5rem } .figures { margin-top: .5rem }
details { margin-top: .5rem; font-size: .9rem } summary { cursor: pointer; color: var(--accent); width: fit-content }
.providers li { display: flex; flex-wrap: wrap; gap: .15rem 1rem; padding: .45rem 0; border-top: 1px solid var(--line) } .providers li:first-child { margin-top: .5rem } .providers code { flex: 1 1 18rem; min-width: 0 } .facts { color: var(--quiet) }
.incidents .quiet { margin-top: .2rem } footer { margin-top: 2.5rem }
`;

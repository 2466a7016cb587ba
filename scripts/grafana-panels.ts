/** A chart: its title, the unit of its values as Grafana names it, and its queries, each with the legend of a line. */
export type Panel = {
  readonly title: string;
  readonly unit?: string;
  readonly queries: readonly (readonly [expression: string, legend: string])[];
};

const RATE = "[$__rate_interval]";
const rate = (metric: string, by = "", filter = "") =>
  `sum${by && ` by (${by})`} (rate(${metric}${filter && `{${filter}}`}${RATE}))`;
const quantile = (share: number, metric: string, by = "") =>
  `histogram_quantile(${share}, sum by (le${by && `, ${by}`}) (rate(${metric}_bucket${RATE})))`;
const percentiles = (metric: string, by = ""): Panel["queries"] =>
  [0.5, 0.95].map((share) => [quantile(share, metric, by), `p${share * 100}${by && ` {{${by}}}`}`]);
const mean = (metric: string): Panel["queries"][number] => [
  `${rate(`${metric}_sum`)} / ${rate(`${metric}_count`)}`,
  "mean",
];

const MODEL = "gen_ai_request_model";
const DURATION = "gen_ai_client_operation_duration_seconds";

/** Each dashboard by its name, with its panels in their order. */
export const DASHBOARDS: Readonly<
  Record<string, { readonly title: string; readonly panels: readonly Panel[] }>
> = {
  customers: {
    title: "Customers' experience",
    panels: [
      {
        title: "Inference requests",
        unit: "reqps",
        queries: [[rate(`${DURATION}_count`, MODEL), `{{${MODEL}}}`]],
      },
      {
        title: "Failed inference requests",
        unit: "percentunit",
        queries: [
          [
            `${rate(`${DURATION}_count`, MODEL, 'error_type!=""')} / ${rate(`${DURATION}_count`, MODEL)}`,
            `{{${MODEL}}}`,
          ],
        ],
      },
      {
        title: "Time to the first chunk",
        unit: "s",
        queries: percentiles("gen_ai_client_operation_time_to_first_chunk_seconds", MODEL),
      },
      { title: "Duration of inference requests", unit: "s", queries: percentiles(DURATION, MODEL) },
      {
        title: "HTTP requests by status",
        unit: "reqps",
        queries: [
          [
            rate("http_server_request_duration_seconds_count", "http_response_status_code"),
            "{{http_response_status_code}}",
          ],
        ],
      },
      {
        title: "HTTP requests by route, p95",
        unit: "s",
        queries: [[quantile(0.95, "http_server_request_duration_seconds", "http_route"), "{{http_route}}"]],
      },
      {
        title: "GraphQL operations by outcome",
        unit: "reqps",
        queries: [[rate("zerograph_graphql_operation_duration_seconds_count", "outcome"), "{{outcome}}"]],
      },
      {
        title: "GraphQL operations, p95",
        unit: "s",
        queries: [
          [
            quantile(0.95, "zerograph_graphql_operation_duration_seconds", "graphql_operation_name"),
            "{{graphql_operation_name}}",
          ],
        ],
      },
      {
        title: "Subscriptions and event streams",
        queries: [
          ["sum(zerograph_subscriptions_open)", "subscriptions"],
          ["sum(zerograph_event_streams_open)", "event streams"],
        ],
      },
      {
        title: "Age of the oldest unpublished event",
        unit: "s",
        queries: [["max(zerograph_event_relay_lag_seconds)", "age"]],
      },
      {
        title: "Events whose position another event had",
        unit: "short",
        queries: [["sum(zerograph_event_positions_taken)", "events"]],
      },
    ],
  },
  money: {
    title: "Money",
    panels: [
      {
        title: "Admissions by outcome",
        unit: "reqps",
        queries: [[rate("zerograph_admissions_total", "outcome"), "{{outcome}}"]],
      },
      { title: "Open holds and allotments", queries: [["max(zerograph_holds_open)", "open"]] },
      {
        title: "Requests in a statement",
        queries: [
          [mean("zerograph_admission_batch_size")[0], "admitted"],
          [mean("zerograph_settlement_batch_size")[0], "settled"],
        ],
      },
      {
        title: "Billed tokens a second",
        queries: [[rate("gen_ai_client_token_usage_sum", "gen_ai_token_type"), "{{gen_ai_token_type}}"]],
      },
      {
        title: "Tokens of a request",
        queries: percentiles("gen_ai_client_token_usage", "gen_ai_token_type"),
      },
      {
        title: "Balance of the router's wallet, 0G",
        queries: [["max(zerograph_wallet_balance_neuron) / 1e18", "balance"]],
      },
    ],
  },
  providers: {
    title: "Providers",
    panels: [
      {
        title: "Circuits that are not closed",
        queries: [["max by (provider) (zerograph_provider_circuit_state) > 0", "{{provider}}"]],
      },
      { title: "Providers tried per request", queries: [mean("zerograph_request_tries")] },
      {
        title: "Checked signatures by verdict",
        unit: "reqps",
        queries: [[rate("zerograph_evidence_total", "verdict"), "{{verdict}}"]],
      },
      {
        title: "Time to the first chunk, p95",
        unit: "s",
        queries: [
          [quantile(0.95, "gen_ai_client_operation_time_to_first_chunk_seconds", MODEL), `{{${MODEL}}}`],
        ],
      },
    ],
  },
  chain: {
    title: "Chain and jobs",
    panels: [
      {
        title: "Blocks that watchers lag behind",
        queries: [["max by (watcher) (zerograph_watcher_lag_blocks)", "{{watcher}}"]],
      },
      {
        title: "Watchers that advance",
        queries: [["min by (watcher) (zerograph_watcher_up)", "{{watcher}}"]],
      },
      { title: "Unfinished jobs", queries: [["max by (state) (zerograph_jobs)", "{{state}}"]] },
      {
        title: "Age of the oldest waiting job",
        unit: "s",
        queries: [["max(zerograph_jobs_oldest_waiting_seconds)", "age"]],
      },
      {
        title: "Age of the oldest event that waits for a webhook",
        unit: "s",
        queries: [["max(zerograph_webhook_oldest_waiting_seconds)", "age"]],
      },
      {
        title: "Attempts to deliver to webhooks, by outcome",
        unit: "reqps",
        queries: [
          [
            "sum by (outcome) (rate(zerograph_webhook_attempt_duration_seconds_count[$__rate_interval]))",
            "{{outcome}}",
          ],
        ],
      },
      {
        title: "Webhooks disabled, by fault of their receiver",
        queries: [
          ["sum by (reason) (increase(zerograph_webhooks_disabled_total[$__rate_interval]))", "{{reason}}"],
        ],
      },
    ],
  },
  processes: {
    title: "Processes",
    panels: [
      {
        title: "Delay of the event loop, p99",
        unit: "s",
        queries: [["zerograph_event_loop_delay_seconds", "{{instance}}"]],
      },
      {
        title: "Refused as overloaded",
        unit: "reqps",
        queries: [[rate("zerograph_refusals_total", "cause"), "{{cause}}"]],
      },
      {
        title: "Spans dropped",
        queries: [["increase(zerograph_trace_spans_dropped[$__rate_interval])", "{{instance}}"]],
      },
      {
        title: "Memory held by requests",
        unit: "bytes",
        queries: [["zerograph_request_memory_bytes", "{{instance}}"]],
      },
      {
        title: "Resident memory",
        unit: "bytes",
        queries: [["process_resident_memory_bytes", "{{instance}}"]],
      },
      {
        title: "Processor time",
        unit: "percentunit",
        queries: [[`rate(process_cpu_seconds_total${RATE})`, "{{instance}}"]],
      },
      {
        title: "Connections to the database",
        queries: [
          ["sum by (state) (zerograph_database_connections)", "{{state}}"],
          ["sum(zerograph_database_waiting)", "statements that wait"],
        ],
      },
      {
        title: "Lag of the database's replica",
        unit: "s",
        queries: [["max(zerograph_database_replica_lag_seconds)", "lag"]],
      },
      {
        title: "Clocks ahead of the database's",
        unit: "s",
        queries: [["zerograph_clock_offset_seconds", "{{instance}}"]],
      },
      {
        title: "Rows of closed months removed",
        unit: "cps",
        queries: [[rate("zerograph_retention_rows_removed_total", "kind"), "{{kind}}"]],
      },
      { title: "Redis answers", queries: [["zerograph_redis_up", "{{instance}}"]] },
      {
        title: "Planning of GraphQL operations",
        unit: "s",
        queries: percentiles("zerograph_graphql_planning_duration_seconds"),
      },
      {
        title: "GraphQL operations that were not planned",
        unit: "reqps",
        queries: [
          [rate("zerograph_graphql_plan_refusals_total", "reason"), "{{reason}}"],
          [rate("zerograph_graphql_planner_restarts_total"), "restarts of the planner"],
        ],
      },
    ],
  },
};

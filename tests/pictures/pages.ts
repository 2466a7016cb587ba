import type { Sample } from "./sample-traffic.ts";

/** A page to show: its name on the sheet, and its path below `/dashboard`. */
export type Shown = { readonly name: string; readonly path: string };

/** Every page of the dashboard, with the sample where a page shows one thing. */
export function shownPages({ requestId, jobId, batchId, token }: Sample): readonly Shown[] {
  return [
    { name: "Overview", path: "/" },
    { name: "Models", path: "/models" },
    { name: "Model", path: "/models/devnet-chat" },
    { name: "Playground", path: "/playground" },
    { name: "Playground: images", path: "/playground?tab=images" },
    { name: "Requests", path: "/requests" },
    { name: "Request", path: `/requests/${requestId}` },
    { name: "Jobs", path: "/jobs" },
    { name: "Job", path: `/jobs/${jobId}` },
    { name: "Batches and files", path: "/batches" },
    { name: "Batch", path: `/batches/${batchId}` },
    { name: "Deposits", path: "/deposits" },
    { name: "Tags and budgets", path: "/tags" },
    { name: "API keys", path: "/keys" },
    { name: "Webhooks", path: "/webhooks" },
    { name: "Storage", path: "/storage" },
    { name: "Agent tokens", path: "/tokens" },
    { name: "Agent token", path: `/tokens/${token}` },
    { name: "Providers", path: "/providers" },
    { name: "Network", path: "/network" },
    { name: "Operations", path: "/operations" },
    { name: "Node", path: "/node" },
    { name: "Settings", path: "/settings" },
  ];
}

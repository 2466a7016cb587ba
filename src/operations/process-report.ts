import type { CircuitReport } from "../inference/providers/health/health.service.ts";

/** The work of a process: everything, the gateway, background work, or one subgraph. */
export type ProcessRole = "all" | "gateway" | "worker" | `subgraph:${string}`;

/** What a process reports of itself. */
export type ProcessReport = {
  /** The name of the process's machine. */
  readonly host: string;
  readonly role: ProcessRole;
  /** The version of the product, and of Node. */
  readonly version: string;
  readonly nodeVersion: string;
  /** How late its event loop was since its last report, milliseconds. */
  readonly delayP50Ms: number;
  readonly delayP99Ms: number;
  /** The memory that the operating system has given the process. */
  readonly residentBytes: number;
  /** Event streams of this process, which many subscriptions may share, and open subscriptions of clients. */
  readonly eventStreams: number;
  readonly subscriptions: number;
  /** Providers that it does not send requests to, or that failed recently: at most 100. */
  readonly circuits: readonly CircuitReport[];
};

/** A process of this deployment, and what it last reported. */
export type ServiceProcess = ProcessReport & {
  readonly id: string;
  readonly startedAt: Date;
  readonly reportedAt: Date;
  /** Whether it has not reported for 20 s. */
  readonly isSilent: boolean;
};

/**
 * How long each part of a Fastify server may take to start, in ms. Fastify's own limit, 10 s, ends the start of a
 * process on a machine that is busy.
 */
export const PLUGIN_TIMEOUT_MS = 120_000;

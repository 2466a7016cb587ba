import { defineConfig } from "vite";
import { relayTags } from "./relay-tags.ts";

const { ZEROGRAPH_URL: target = "http://127.0.0.1:4000", ZEROGRAPH_KEY: key } = process.env;

/** The key stays on this side: the page asks its own server, which adds the key and passes on, sockets as well. */
const proxy = { "/graphql": { target, ws: true, headers: { authorization: `Bearer ${key}` } } };

export default defineConfig(({ command }) => {
  // A build has no server that would need the key.
  if (!key && command === "serve")
    throw new Error("Set ZEROGRAPH_KEY to an mk- key; npm start of the gateway prints one.");
  return {
    root: import.meta.dirname,
    plugins: [relayTags],
    server: { proxy },
    preview: { proxy },
  };
});

import { createClient } from "@zerograph/client";
import { PublishedSealedKeyDocument } from "@zerograph/client/operations";
import {
  useBalance,
  useConnection,
  useImageJob,
  useLive,
  usePublishedSealedKey,
  ZerographProvider,
} from "@zerograph/client/react";
import { createElement } from "react";
import { renderToString } from "react-dom/server";

let requests = 0;
const client = createClient({
  url: "http://127.0.0.1:1",
  fetch() {
    requests++;
    throw new Error("a server renders without requests");
  },
});

function App() {
  const states = [useConnection(), useBalance().state, useImageJob("1").state, useImageJob(null).state];
  const live = [usePublishedSealedKey({}).state, useLive(PublishedSealedKeyDocument, {}).state];
  return createElement("p", null, [...states, ...live].join(" "));
}

const html = renderToString(createElement(ZerographProvider, { client }, createElement(App)));
// Whatever was started would run now, or keep the process alive.
await new Promise((resolve) => setTimeout(resolve, 100));
console.log(JSON.stringify({ html, requests, state: client.state }));

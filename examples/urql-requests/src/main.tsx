import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Provider } from "urql";
import { client } from "./graph.ts";
import { Requests } from "./requests.tsx";
import { Summary } from "./summary.tsx";

const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <Provider value={client}>
        <main>
          <h1>Requests</h1>
          <Summary />
          <Requests />
        </main>
      </Provider>
    </StrictMode>,
  );

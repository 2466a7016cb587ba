import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Provider } from "urql";
import { ZerographProvider } from "../../../packages/client/src/react.ts";
import { App } from "./app.tsx";
import { client } from "./graph.ts";
import { liveClient } from "./live.ts";
import { Router } from "./router.tsx";
import { SessionProvider } from "./session.tsx";
import { PageBoundary } from "./ui/page-boundary.tsx";
import "./style.css";

const root = document.getElementById("root");
if (!root) throw new Error("the page has no root element");
createRoot(root).render(
  <StrictMode>
    <Provider value={client}>
      <ZerographProvider client={liveClient}>
        <Router>
          <PageBoundary>
            <SessionProvider>
              <App />
            </SessionProvider>
          </PageBoundary>
        </Router>
      </ZerographProvider>
    </Provider>
  </StrictMode>,
);

import { StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { RelayEnvironmentProvider } from "react-relay";
import { environment } from "./environment.ts";
import { Failure } from "./failure.tsx";
import { Page } from "./page.tsx";

const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <RelayEnvironmentProvider environment={environment}>
        <main>
          <h1>Requests</h1>
          <Failure>
            <Suspense fallback={<p>Loading…</p>}>
              <Page />
            </Suspense>
          </Failure>
        </main>
      </RelayEnvironmentProvider>
    </StrictMode>,
  );

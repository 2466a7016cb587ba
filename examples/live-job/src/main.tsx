import { ZerographProvider } from "@zerograph/client/react";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import { Provider } from "urql";
import { Ask } from "./ask.tsx";
import { client, live } from "./graph.ts";
import { Job } from "./job.tsx";

function App() {
  const [jobId, setJobId] = useState<string>();
  return (
    <main>
      <h1>A live job</h1>
      <Ask onSubmitted={setJobId} />
      {jobId && <Job key={jobId} id={jobId} />}
    </main>
  );
}

const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <ZerographProvider client={live}>
        <Provider value={client}>
          <App />
        </Provider>
      </ZerographProvider>
    </StrictMode>,
  );

import { ApolloProvider } from "@apollo/client/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { client } from "./graph.ts";
import { Requests } from "./requests.tsx";
import { Summary } from "./summary.tsx";

const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <ApolloProvider client={client}>
        <main>
          <h1>Requests</h1>
          <Summary />
          <Requests />
        </main>
      </ApolloProvider>
    </StrictMode>,
  );

import { MantineProvider } from "@mantine/core";
import { type ReactNode, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Provider } from "urql";
import { config } from "zod/mini";
import { ZerographProvider } from "../../../packages/client/src/react.ts";
import { client } from "./data/query/graph.ts";
import { liveClient } from "./data/query/live.ts";
import { SessionProvider } from "./data/session/session.tsx";
import { usePrinting } from "./data/use-printing.ts";
import { App } from "./shell/app.tsx";
import { PageBoundary } from "./shell/routes/page-boundary.tsx";
import { shareNonce, styleNonce } from "./shell/theme/nonce.ts";
import { colorSchemes, cssVariables, theme } from "./shell/theme/theme.ts";
import "./shell/theme/mantine-css.ts";
import "sonner/dist/styles.css";
import "./styles/index.css";

shareNonce();
// The content security policy allows no code made from text, which zod would try.
config({ jitless: true });
const root = document.getElementById("root");
if (!root) throw new Error("the page has no root element");
createRoot(root).render(
  <StrictMode>
    <Themed>
      <Provider value={client}>
        <ZerographProvider client={liveClient}>
          <PageBoundary>
            <SessionProvider>
              <App />
            </SessionProvider>
          </PageBoundary>
        </ZerographProvider>
      </Provider>
    </Themed>
  </StrictMode>,
);

/** The theme around the page, in the light colours on paper. */
function Themed({ children }: { children: ReactNode }) {
  const isPrinting = usePrinting();
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      colorSchemeManager={colorSchemes}
      defaultColorScheme="auto"
      getStyleNonce={styleNonce}
      {...(isPrinting && { forceColorScheme: "light" as const })}
    >
      {children}
    </MantineProvider>
  );
}

import { RouterProvider } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { loadAgain } from "../data/query/fetch-again.ts";
import { useSession } from "../data/session/session.tsx";
import { TokenPriceProvider } from "../data/token-price.tsx";
import { Failure, Loading } from "../parts/page/states.tsx";
import { Messages } from "./messages.tsx";
import { router } from "./routes/router.tsx";

const SignInPage = lazy(async () => ({
  default: await loadAgain(async () => (await import("../pages/sign-in/sign-in-page.tsx")).SignInPage),
}));

/** The dashboard: the sign-in page without a session, otherwise the page of the URL in the shell. */
export function App() {
  return (
    <>
      <Content />
      <Messages />
    </>
  );
}

function Content() {
  const { address, failure, network } = useSession();
  if (failure)
    return (
      <main className="alone">
        <Failure reason={failure} />
      </main>
    );
  const loading = (
    <main className="alone">
      <Loading />
    </main>
  );
  if (address === undefined || !network) return loading;
  if (address === null)
    return (
      <Suspense fallback={loading}>
        <SignInPage />
      </Suspense>
    );
  return (
    <TokenPriceProvider>
      <RouterProvider router={router} />
    </TokenPriceProvider>
  );
}

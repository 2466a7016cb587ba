import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import CircleCheck from "lucide-react/icons/circle-check";
import CircleDashed from "lucide-react/icons/circle-dashed";
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";
import { loadAgain } from "../../data/query/fetch-again.ts";
import { Section } from "../../parts/page/page.tsx";
import { Loading } from "../../parts/page/states.tsx";
import type { Account } from "./overview-query.ts";
import { useFirstSteps } from "./use-first-steps.ts";
import "./first-steps.css";

const FirstCall = lazy(async () => ({
  default: await loadAgain(async () => (await import("./first-call.tsx")).FirstCall),
}));
const FirstSubscription = lazy(async () => ({
  default: await loadAgain(async () => (await import("./first-call.tsx")).FirstSubscription),
}));

/** A balance that could not be read is not known to be funded. */
const NOTHING = { available: "0" };

/**
 * What a new user does first; each step is ticked as soon as it is done, wherever it was done. Shown from an empty
 * account on until all is done, or the user hides it.
 */
export function FirstSteps({ account }: { account: Account }) {
  const [kept, keep] = useFirstSteps();
  const [secret, setSecret] = useState<string>();
  const hasKey = (account.apiKeys?.nodes.length ?? 0) > 0;
  const hasCalled = (account.requests?.nodes.length ?? 0) > 0;
  const hasDeposit =
    (account.deposits?.nodes.length ?? 0) > 0 || (account.balance ?? NOTHING).available !== "0";
  const isEmpty = account.requests !== null && !hasCalled;
  const hasSubscribed = kept.hasSubscribed === true;
  const isDone = hasKey && hasCalled && hasDeposit && hasSubscribed;
  useEffect(() => {
    if (isEmpty && !kept.isShown) keep({ isShown: true });
  });
  if (kept.isDismissed || !(isEmpty || kept.isShown)) return null;
  const done = [hasDeposit, hasKey, hasCalled, hasSubscribed].filter(Boolean).length;
  return (
    <Section
      title={isDone ? "You are set up" : "Get started"}
      about={
        isDone ? "All four steps are done." : `${done} of 4 steps are done. Each is ticked as soon as it is.`
      }
      actions={
        <Button size="xs" variant="subtle" color="gray" onClick={() => keep({ isDismissed: true })}>
          Hide
        </Button>
      }
    >
      {!isDone && (
        <ol className="steps">
          <Step title="Fund the account" isDone={hasDeposit}>
            Requests are paid from a balance that you <Link to="/deposits">deposit</Link>.
          </Step>
          <Step title="Create an API key" isDone={hasKey}>
            A key lets a client call models and spend this balance.{" "}
            <Link to="/keys">Create one with limits</Link>, or one for the code below:
          </Step>
          <Step title="Make the first call" isDone={hasCalled} isOpen={!hasCalled}>
            <FirstCall secret={secret} onSecret={setSecret} />
          </Step>
          <Step title="Follow the balance live" isDone={hasSubscribed} isOpen={hasCalled}>
            <FirstSubscription onEvent={() => keep({ hasSubscribed: true })} isDone={hasSubscribed} />
          </Step>
        </ol>
      )}
    </Section>
  );
}

type StepProps = {
  readonly title: string;
  readonly isDone: boolean;
  readonly isOpen?: boolean;
  readonly children: ReactNode;
};

/** A step. What it needs is shown until it is done. */
function Step({ title, isDone, isOpen = true, children }: StepProps) {
  const Icon = isDone ? CircleCheck : CircleDashed;
  return (
    <li className={isDone ? "done" : undefined}>
      <Icon size={18} role="img" aria-label={isDone ? "Done" : "Not done yet"} />
      <div>
        <p className="step-title">{title}</p>
        {!isDone && isOpen && (
          <div className="step-more">
            <Suspense fallback={<Loading rows={6} />}>{children}</Suspense>
          </div>
        )}
      </div>
    </li>
  );
}

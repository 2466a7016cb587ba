import { Alert, Button, Group } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import CircleAlert from "lucide-react/icons/circle-alert";
import { useEffect, useState } from "react";
import { ActionButton } from "../../../parts/form/action-button.tsx";
import { usePlaygroundKey } from "../key/playground-key.tsx";
import { adviceFor, type Failure } from "./failure.ts";

/** Why a request failed: its code, what to do about it, and when a retry makes sense. */
export function FailureNote({ failure, onRetry }: { failure: Failure; onRetry?: (() => void) | undefined }) {
  const { code, message, requestId, retryAt } = failure;
  const advice = adviceFor(failure);
  const { renew } = usePlaygroundKey();
  const seconds = useSecondsUntil(retryAt);
  return (
    <Alert color="red" variant="light" icon={<CircleAlert size={18} />} classNames={{ root: "failure" }}>
      <div className="failure-lines">
        <p>
          {message} <code>{code}</code>
        </p>
        {(advice || seconds > 0) && (
          <p>
            {advice?.text} {seconds > 0 && `You can retry in ${seconds} s.`}{" "}
            {advice?.to && <Link to={advice.to}>{advice.link}</Link>}
          </p>
        )}
        {requestId && <p className="quiet">Request ID: {requestId}</p>}
        <Group gap="xs">
          {onRetry && (
            <Button size="compact-sm" variant="default" disabled={seconds > 0} onClick={onRetry}>
              Try again
            </Button>
          )}
          {advice?.needsKey && (
            <ActionButton size="compact-sm" act={renew} done="There is a new session key.">
              New session key
            </ActionButton>
          )}
        </Group>
      </div>
    </Alert>
  );
}

/** Seconds until a time, counting down; 0 after it. */
function useSecondsUntil(at: number | undefined): number {
  const [now, setNow] = useState(Date.now);
  const seconds = at === undefined ? 0 : Math.max(0, Math.ceil((at - now) / 1_000));
  const isWaiting = seconds > 0;
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [isWaiting]);
  return seconds;
}

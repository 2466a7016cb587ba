import { Progress } from "@mantine/core";
import { type BatchCounts, hasEnded } from "./batch-queries.ts";

/** How many requests of a batch were answered, and how many failed, of all. */
export function BatchProgress({ of, label }: { of: BatchCounts; label: string }) {
  const { status, requestCount, completedCount, failedCount } = of;
  const isChecking = requestCount === 0 && !hasEnded(status);
  const share = (count: number) => (requestCount > 0 ? (count / requestCount) * 100 : 0);
  const number = (count: number) => count.toLocaleString("en");
  return (
    <div className="batch-progress">
      <Progress.Root size="sm">
        {isChecking ? (
          <Progress.Section value={100} striped animated aria-label={`${label}: being checked`} />
        ) : (
          <>
            <Progress.Section
              value={share(completedCount)}
              color={hasEnded(status) ? "gray" : "iris"}
              aria-label={`${label}: ${number(completedCount)} of ${number(requestCount)} answered`}
            />
            {failedCount > 0 && (
              <Progress.Section
                value={share(failedCount)}
                color="red"
                aria-label={`${label}: ${number(failedCount)} failed`}
              />
            )}
          </>
        )}
      </Progress.Root>
      <span className="quiet">
        {isChecking ? "checking" : `${number(completedCount + failedCount)} of ${number(requestCount)}`}
        {failedCount > 0 && `, ${number(failedCount)} failed`}
      </span>
    </div>
  );
}

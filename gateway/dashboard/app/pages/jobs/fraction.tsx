import { Progress } from "@mantine/core";

/** How far a job is: a moving bar while nothing is known, a full one when it completed. */
export function Fraction({ status, fraction }: { status: string; fraction: number | null }) {
  if (status !== "COMPLETED" && isFinal(status)) return <span className="quiet">ended</span>;
  const isUnknown = status !== "COMPLETED" && fraction === null;
  const value = status === "COMPLETED" ? 100 : isUnknown ? 100 : (fraction ?? 0) * 100;
  return (
    <Progress
      size="sm"
      miw={96}
      value={value}
      color={status === "COMPLETED" ? "gray" : "iris"}
      striped={isUnknown}
      animated={isUnknown}
      aria-label="Progress"
    />
  );
}

/** Whether nothing more happens to a job of this status. */
export function isFinal(status: string): boolean {
  return status === "COMPLETED" || status === "FAILED" || status === "CANCELLED";
}

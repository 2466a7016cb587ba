import { Alert, Button, Group, Skeleton, Stack, Text, VisuallyHidden } from "@mantine/core";
import CircleAlert from "lucide-react/icons/circle-alert";
import Inbox from "lucide-react/icons/inbox";
import Lock from "lucide-react/icons/lock";
import type { ReactNode } from "react";
import type { CombinedError } from "urql";
import { isRefusal, reasonOf } from "../../data/query/graph.ts";

/** An error message, announced to screen readers; with `onRetry` it has a button to try again. */
export function Failure({ reason, onRetry }: { reason: string; onRetry?: () => void }) {
  return (
    <Alert color="red" variant="light" icon={<CircleAlert size={18} />} classNames={{ root: "failure" }}>
      <Group justify="space-between" gap="sm">
        <span>{reason}</span>
        {onRetry && (
          <Button size="xs" variant="default" onClick={onRetry}>
            Try again
          </Button>
        )}
      </Group>
    </Alert>
  );
}

/** What an empty list says, and what to do about it. */
export function EmptyState({
  icon,
  title,
  children,
}: {
  icon?: ReactNode;
  title: string;
  children?: ReactNode;
}) {
  return (
    <div className="empty">
      <span className="empty-icon" aria-hidden="true">
        {icon ?? <Inbox size={20} />}
      </span>
      <p className="empty-title">{title}</p>
      {children && <div className="empty-more">{children}</div>}
    </div>
  );
}

/** In place of what the caller may not read. */
export function NoPermission({ reason }: { reason: string }) {
  return (
    <EmptyState icon={<Lock size={20} />} title="No permission">
      <p>{reason}</p>
    </EmptyState>
  );
}

/** A placeholder as high as what it stands for, so that nothing jumps. */
export function Loading({ rows = 3 }: { rows?: number }) {
  return (
    <div role="status" className="loading">
      <VisuallyHidden>Loading…</VisuallyHidden>
      <Stack gap="sm" aria-hidden="true">
        {Array.from({ length: rows }, (_, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines have no other identity.
          <Skeleton key={n} height={18} width={`${92 - ((n * 17) % 40)}%`} radius="sm" />
        ))}
      </Stack>
    </div>
  );
}

type Query<Value> = {
  readonly value: Value | null | undefined;
  readonly error?: CombinedError | undefined;
  readonly fetching: boolean;
  readonly onRetry?: () => void;
  /** Instead of a value that is null. */
  readonly empty?: ReactNode;
  /** How many lines the placeholder has. */
  readonly lines?: number;
  children(value: Value): ReactNode;
};

/** The outcome of a query for one thing: its value, or that it is loading, failed, refused, or does not exist. */
export function Outcome<Value>({
  value,
  error,
  fetching,
  onRetry,
  empty,
  lines = 6,
  children,
}: Query<Value>) {
  if (value !== undefined && value !== null) return children(value);
  if (error && isRefusal(error)) return <NoPermission reason={reasonOf(error)} />;
  if (error) return <Failure reason={reasonOf(error)} {...(onRetry && { onRetry })} />;
  if (fetching || value === undefined) return <Loading rows={lines} />;
  return empty ?? <EmptyState title="Not found." />;
}

/** A sentence in the quiet colour. */
export function Note({ children }: { children: ReactNode }) {
  return (
    <Text c="dimmed" size="sm">
      {children}
    </Text>
  );
}

import { VisuallyHidden } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useBalance } from "../../../../packages/client/src/react.ts";
import { Amount } from "../parts/value/amount.tsx";

/** The balance that is available, live. */
export function Balance() {
  const { balance } = useBalance();
  if (!balance) return null;
  return (
    <Link to="/deposits" className="balance">
      <VisuallyHidden>Balance </VisuallyHidden>
      <Amount neuron={balance.available} places={2} />
    </Link>
  );
}

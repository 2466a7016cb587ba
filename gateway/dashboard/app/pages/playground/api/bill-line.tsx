import { Link } from "@tanstack/react-router";
import { Amount } from "../../../parts/amount.tsx";
import { Hash } from "../../../parts/hash.tsx";
import { Pill } from "../../../parts/state-badge.tsx";
import type { Bill } from "./bill.ts";

/** The price, the provider and the evidence of an answer. */
export function BillLine({ bill: { requestId, provider, cost, isVerified, verdict } }: { bill: Bill }) {
  return (
    <p className="facts">
      {cost !== undefined && (
        <span>
          <Amount neuron={cost} places={9} />
        </span>
      )}
      <span>
        by <Hash of={provider} />
      </span>
      {isVerified === true && <Pill tone="good">signature verified</Pill>}
      {isVerified === false && (
        <Pill tone="bad">{verdict ? `signature ${verdict}` : "signature not verified"}</Pill>
      )}
      <Link to="/requests/$id" params={{ id: requestId }}>
        Details
      </Link>
    </p>
  );
}

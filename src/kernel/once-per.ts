import { Slot } from "./slot.ts";

/**
 * Computes a value once for each object, and keeps it on the object itself. A `WeakMap` would keep the value alive until
 * the next full garbage collection, also after its key is gone, and with it whatever refers back to the key: most of what
 * is made for a document that comes once. A copy of the object has a value of its own.
 */
export function oncePer<Owner extends object, Value>(
  compute: (owner: Owner) => Value,
): (owner: Owner) => Value {
  const slot = new Slot<Owner, { readonly owner: Owner; readonly value: Value }>();
  return (owner) => {
    const known = slot.get(owner);
    // Spreading an object copies the slot, too.
    if (known?.owner === owner) return known.value;
    const value = compute(owner);
    slot.set(owner, { owner, value });
    return value;
  };
}

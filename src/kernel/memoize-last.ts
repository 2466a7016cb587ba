/** `make`, which is not called again for the object that it was called with last. */
export function memoizeLast<T extends object, R>(make: (value: T) => R): (value: T) => R {
  let last: { readonly value: T; readonly made: R } | undefined;
  return (value) => {
    if (last?.value !== value) last = { value, made: make(value) };
    return last.made;
  };
}

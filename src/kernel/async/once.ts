/** Makes a value when it is first asked for, and gives the same one ever after: for what follows from code alone and takes time to work out. */
export function once<T extends object | string>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

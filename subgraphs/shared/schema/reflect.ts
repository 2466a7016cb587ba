/**
 * A shim for `Reflect` metadata: when every type is given explicitly, type-graphql only needs the functions to exist.
 * Import this first in every module with decorators.
 */
const shim = {
  getMetadata: () => undefined,
  defineMetadata: () => undefined,
  metadata: () => () => undefined,
};

for (const [name, value] of Object.entries(shim)) {
  if (!(name in Reflect)) Object.defineProperty(Reflect, name, { value, configurable: true, writable: true });
}

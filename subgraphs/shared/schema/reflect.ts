/**
 * All that type-graphql needs of `Reflect` metadata when every type is given explicitly: that the functions exist.
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

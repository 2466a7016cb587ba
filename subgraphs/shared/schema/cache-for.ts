import "./reflect.ts";
import { Directive } from "type-graphql";

/**
 * Tells gateways how long an answer with this field holds, with all that is selected in it that does not say less. Only
 * for what is the same for everyone.
 */
export function CacheFor(seconds: number): ReturnType<typeof Directive> {
  return Directive(`@cacheControl(maxAge: ${seconds})`);
}

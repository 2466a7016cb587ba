import "./reflect.ts";
import { Directive } from "type-graphql";

/**
 * Declares for how many seconds gateways may cache a response with this field, including its selected sub-fields unless
 * they declare less. Only for data that is the same for every caller.
 */
export function CacheFor(seconds: number): ReturnType<typeof Directive> {
  return Directive(`@cacheControl(maxAge: ${seconds})`);
}

export { type Check, type Files, type Verification, verify } from "../../verify/src/verify.ts";

import fc from "fast-check";

/** Generated values are the same in every run, so that the same mutants survive; a failure is not made smaller. */
fc.configureGlobal({ seed: 1, endOnFailure: true });

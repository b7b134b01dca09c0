/** Mutants of reservations that change nothing anyone can see, and why; each is named by its id. */

export const RESERVATION_EQUIVALENT: Readonly<Record<string, string>> = {};

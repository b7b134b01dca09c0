/** How many random runs a test makes: few in the short form, as many as WEIR_TEST_RUNS says in the long one. */

export function runsOf(short: number): number {
  return Number(process.env.WEIR_TEST_RUNS ?? short);
}

/** Whether this run is the short form or the long one, and how many cases of a random test the short form pays for. */

/** The long form: `npm run test:long`, or `npm test -- STAGE --long`. Nothing else reads the variable. */
export const isLong = process.env.WEIR_TEST_FORM === 'long';

/** The budget of the short form: this part of the cases of the long form, and at least so many of each test. */
const SHORT_PART = 1 / 16;
const SHORT_CASES_MIN = 25;

/** How many cases to run of a test that runs `longCases` in the long form. */
export function casesOf(longCases: number): number {
  return isLong ? longCases : Math.min(longCases, Math.max(SHORT_CASES_MIN, Math.ceil(longCases * SHORT_PART)));
}

/** JSON.parse with the result `unknown` instead of `any`: callers state the type that they read. */

/** @type {(text: string) => unknown} */
export const parseJson = JSON.parse;

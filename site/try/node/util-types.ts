/** What the engines use of node:util/types, in a browser. */

export function isNativeError(value: unknown): value is Error {
  return value instanceof Error;
}

/** A JSON value with parts of it replaced. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key in string]: Json };

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

export function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !isList(value);
}

/** From the leaves up, each value as `replace` returns it. */
export function rewritten(value: Json, replace: (value: Json) => Json): Json {
  if (isList(value)) return replace(value.map((each) => rewritten(each, replace)));
  if (!isObject(value)) return replace(value);
  return replace(Object.fromEntries(Object.entries(value).map(([key, each]) => [key, rewritten(each, replace)])));
}

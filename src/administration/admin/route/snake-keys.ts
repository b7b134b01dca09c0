/** Converts the field names of values to those of the API: `requestsPerUnit` to `requests_per_unit`. */

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

export type SnakeKeys<Value> = Value extends readonly (infer Item)[]
  ? SnakeKeys<Item>[]
  : Value extends object
    ? { -readonly [Key in keyof Value as Key extends string ? SnakeCase<Key> : never]: SnakeKeys<Value[Key]> }
    : Value;

/** A deep copy. The value must be plain data. */
export function snakeKeys<Value>(value: Value): SnakeKeys<Value> {
  return convert(value) as SnakeKeys<Value>;
}

function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), convert(item)]),
  );
}

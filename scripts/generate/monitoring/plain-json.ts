/** The type of a value as JSON has it: Grafana's types, with the values of their enums instead of the enums. */

export type PlainJson<T> = T extends string
  ? `${T}`
  : T extends number
    ? NumberOf<T>
    : T extends boolean | null | undefined
      ? T
      : T extends (...args: never) => unknown
        ? never
        : T extends readonly (infer Item)[]
          ? readonly PlainJson<Item>[]
          : { readonly [Name in keyof T as T[Name] extends (...args: never) => unknown ? never : Name]: PlainJson<T[Name]> };

type NumberOf<T extends number> = `${T}` extends `${infer N extends number}` ? N : T;

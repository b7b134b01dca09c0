/** Hits as an amount of something people count: `5 USD` for 5,000,000 hits of a millionth. */

export interface AmountForm {
  /** The name of one amount, such as `USD`. */
  readonly unit: string;
  /** Hits in one: a power of ten. */
  readonly divide: number;
}

/** The powers of ten that hits may be divided by. */
export const DIVISORS: readonly number[] = Array.from({ length: 13 }, (_, power) => 10 ** power);

/** Exact, unlike a quotient: `4.25 USD`. `hits` is a whole number. */
export function amountText(hits: number, { unit, divide }: AmountForm): string {
  const digits = String(Math.abs(hits)).padStart(String(divide).length, '0');
  const point = digits.length - (String(divide).length - 1);
  const fraction = digits.slice(point).replace(/0+$/, '');
  return `${hits < 0 ? '-' : ''}${digits.slice(0, point)}${fraction === '' ? '' : `.${fraction}`} ${unit}`;
}

/** With an amount in its form, otherwise as it is. */
export function hitsText(hits: number, form: AmountForm | undefined): string {
  return form === undefined ? String(hits) : amountText(hits, form);
}

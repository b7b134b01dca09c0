/** Reads and writes shares and spans of time as people write them: `2%`, `5m`. */

const PERCENT = /^(\d{1,3}(?:\.\d{1,4})?)%$/;

/** As many digits as a double is exact to. */
const EXACT_DIGITS = 15;

/** The share that a percentage names, over 0 and at most 1; undefined: it names none. */
export function readPercentText(text: string): number | undefined {
  const share = Number(PERCENT.exec(text)?.[1] ?? NaN) / 100;
  return share > 0 && share <= 1 ? share : undefined;
}

export function percentText(share: number): string {
  return `${Number((share * 100).toPrecision(EXACT_DIGITS))}%`;
}

const SPAN = /^(?:(\d{1,2})h)?(?:(\d{1,4})m)?(?:(\d{1,5})s)?$/;

/** The longest span: a day. */
const SPAN_S_MAX = 86_400;

/** The seconds of a text such as `1h30m`, from a second to a day; undefined: it names no such span. */
export function readSpanS(text: string): number | undefined {
  const [whole = '', hours = '0', minutes = '0', seconds = '0'] = SPAN.exec(text) ?? [];
  const value = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  return whole !== '' && value >= 1 && value <= SPAN_S_MAX ? value : undefined;
}

/** In the largest unit that needs no fraction. */
export function spanText(seconds: number): string {
  if (seconds % 3_600 === 0) return `${seconds / 3_600}h`;
  return seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}

/** The lengths of time in alerts. A test divides them, so that an alert fires and resolves within seconds. */

/** As Prometheus writes durations: `30s`, `5m`, `6h`. */
export type Duration = `${number}${'s' | 'm' | 'h'}`;

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** The shortest range of a divided time: a rate needs several scrapes in it. */
const RANGE_MS_MIN = 3_000;

export interface TimeScale {
  /** A range that a query looks back over. */
  range(duration: Duration): string;
  /** The time that a condition must hold. */
  hold(duration: Duration): string;
  /** A threshold in seconds. */
  seconds(duration: Duration): number;
}

/** The times as written. */
export const REAL_TIME: TimeScale = {
  range: (duration) => duration,
  hold: (duration) => duration,
  seconds: (duration) => toMs(duration) / 1_000,
};

/** All times divided. Ranges and thresholds stay at 3 s or more. */
export function dividedBy(divisor: number): TimeScale {
  const divided = (duration: Duration, leastMs = 0): number => Math.round(Math.max(leastMs, toMs(duration) / divisor));
  return {
    range: (duration) => `${divided(duration, RANGE_MS_MIN)}ms`,
    hold: (duration) => `${divided(duration)}ms`,
    seconds: (duration) => divided(duration, RANGE_MS_MIN) / 1_000,
  };
}

function toMs(duration: Duration): number {
  const unit = duration.slice(-1) as keyof typeof UNIT_MS;
  return Number(duration.slice(0, -1)) * UNIT_MS[unit];
}

/** The usage of one key over a day, from the metric of top keys in Prometheus: bounded, with a deadline, and used again for a minute. */

/** The gauge of METRIC_TOP_KEYS. */
export const USAGE_METRIC = 'weir_top_key_hits';

/** The metric counts the last ten minutes, so a point each ten minutes counts every hit once. */
const STEP_S = 600;

const DAY_S = 86_400;

/** Two questions in a minute are the same for Prometheus. */
const ALIGN_S = 60;

/** Longest wait for Prometheus, in milliseconds. */
const TIMEOUT_MS = 5_000;

/** Longest answer: two series of 145 points take 6 KB. */
const ANSWER_BYTES_MAX = 262_144;

/** How long an answer is used again, in milliseconds, and most answers that are kept. */
const REUSE_MS = 60_000;
const KEPT_MAX = 100;

/** Most queries at the same time. */
const QUERIES_MAX = 4;

export interface UsageQuery {
  readonly domain: string;
  /** As in top keys. */
  readonly entries: string;
}

export interface UsagePoint {
  readonly at: string;
  /** Hits in the ten minutes before. */
  readonly asked: number;
  readonly denied: number;
}

/** Prometheus cannot answer. The message says why. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface UsagePort {
  /** The last day, the oldest point first. Rejects with UsageError if Prometheus cannot answer. */
  day(query: UsageQuery): Promise<readonly UsagePoint[]>;
}

export interface PrometheusUsageOptions {
  /** `ADMIN_PROMETHEUS_URL`. */
  readonly url: string;
  /** In milliseconds since 1970. */
  readonly nowMs: () => number;
  readonly timeoutMs?: number;
}

interface Reading {
  readonly atMs: number;
  readonly points: Promise<readonly UsagePoint[]>;
}

export class PrometheusUsage implements UsagePort {
  private readonly readings = new Map<string, Reading>();
  private asking = 0;

  constructor(private readonly options: PrometheusUsageOptions) {}

  day(query: UsageQuery): Promise<readonly UsagePoint[]> {
    const id = JSON.stringify([query.domain, query.entries]);
    const atMs = this.options.nowMs();
    const known = this.readings.get(id);
    if (known !== undefined && atMs - known.atMs < REUSE_MS) return known.points;
    const points = this.ask(query, Math.floor(atMs / 1_000));
    const reading = { atMs, points };
    this.readings.delete(id);
    this.readings.set(id, reading);
    // A failure is not used again.
    points.catch(() => {
      if (this.readings.get(id) === reading) this.readings.delete(id);
    });
    const [oldest] = this.readings.keys();
    if (this.readings.size > KEPT_MAX && oldest !== undefined) this.readings.delete(oldest);
    return points;
  }

  private async ask({ domain, entries }: UsageQuery, nowS: number): Promise<readonly UsagePoint[]> {
    if (this.asking >= QUERIES_MAX) throw new UsageError(`${QUERIES_MAX} queries wait for Prometheus; try again`);
    const end = nowS - (nowS % ALIGN_S);
    const search = new URLSearchParams({
      query: `sum by (question) (${USAGE_METRIC}{domain=${JSON.stringify(domain)},key=${JSON.stringify(entries)}})`,
      start: String(end - DAY_S),
      end: String(end),
      step: String(STEP_S),
      timeout: `${TIMEOUT_MS}ms`,
    });
    this.asking += 1;
    try {
      const { url, timeoutMs = TIMEOUT_MS } = this.options;
      const place = `${url.replace(/\/$/, '')}/api/v1/query_range`;
      const response = await fetch(`${place}?${search.toString()}`, { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) });
      if (!response.ok) throw new Error(`it answered ${response.status}`);
      return pointsOf(JSON.parse(await readBounded(response)));
    } catch (error) {
      throw new UsageError(`ADMIN_PROMETHEUS_URL: Prometheus gave no usage: ${reasonOf(error)}`);
    } finally {
      this.asking -= 1;
    }
  }
}

/** The cause of a failed fetch says more than its message. */
function reasonOf(error: unknown): string {
  const {
    name,
    message = String(error),
    cause,
  } = error as { readonly name?: string; readonly message?: string; readonly cause?: { readonly message?: string } };
  return name === 'TimeoutError' ? 'no answer in time' : (cause?.message ?? message);
}

async function readBounded(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`its answer has over ${ANSWER_BYTES_MAX} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

interface Answer {
  readonly data?: {
    readonly result?: readonly {
      readonly metric?: Readonly<Record<string, string>>;
      readonly values?: readonly (readonly [number, string])[];
    }[];
  };
}

/** Throws unless it is the answer to a range query. */
function pointsOf(answer: unknown): readonly UsagePoint[] {
  const result = (answer as Answer | null)?.data?.result;
  if (!Array.isArray(result)) throw new Error('its answer is not that of a range query');
  const byTime = new Map<number, { asked: number; denied: number }>();
  for (const { metric = {}, values = [] } of result as NonNullable<NonNullable<Answer['data']>['result']>) {
    const { question } = metric;
    if (question !== 'asked' && question !== 'denied') continue;
    for (const [seconds, text] of values) {
      const hits = Number(text);
      if (!Number.isFinite(seconds) || !Number.isFinite(hits)) continue;
      const point = byTime.get(seconds) ?? { asked: 0, denied: 0 };
      byTime.set(seconds, { ...point, [question]: hits });
    }
  }
  return Array.from(byTime)
    .sort(([one], [other]) => one - other)
    .map(([seconds, hits]) => ({ at: new Date(seconds * 1_000).toISOString(), ...hits }));
}

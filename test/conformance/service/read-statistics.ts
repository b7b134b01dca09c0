/** What a rate limit service under test has counted, as the models name it: out of its lines to statsd, or of its page for Prometheus. */

import { labelled, RULE_METRIC, RULE_PREFIX, type Counts } from '../model/statistics';

/** Either, or both. */
export interface ReadStatistics {
  readonly statsd?: Counts;
  readonly prometheus?: Counts;
}

/** Statistics of no rule that are compared too. */
const SERVICE_NAMES = ['ratelimit.service.global_shadow_mode', 'ratelimit.service.call.should_rate_limit.service_error'];

/** Counters of the names that the models have; `isOurs` says of which domains. */
export function compared(counts: Counts, isOurs: (name: string) => boolean = () => true): Counts {
  return new Map([...counts].filter(([name]) => SERVICE_NAMES.includes(name) || (isCompared(name) && isOurs(name))));
}

function isCompared(name: string): boolean {
  return name.startsWith(RULE_PREFIX) || name.startsWith(RULE_METRIC);
}

/** Of the lines `name:count|c` that have come, the sums. */
export function countsOfLines(lines: readonly string[]): Counts {
  const counts = new Map<string, bigint>();
  for (const line of lines) {
    const [, name, count] = /^(.*):(\d+)\|c$/.exec(line) ?? [];
    if (name !== undefined && count !== undefined) counts.set(name, (counts.get(name) ?? 0n) + BigInt(count));
  }
  return counts;
}

/** Of a page for Prometheus, the samples that are whole numbers. */
export function countsOfPage(page: string): Counts {
  const counts = new Map<string, bigint>();
  for (const line of page.split('\n')) {
    const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\d[\d.e+]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined || !Number.isInteger(Number(value)) || !isCompared(name)) continue;
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(
      ([, label = '', text = '']) => [label, JSON.parse(`"${text}"`) as string] as const,
    );
    const sample = labelled(name, pairs);
    counts.set(sample, (counts.get(sample) ?? 0n) + BigInt(Number(value)));
  }
  return counts;
}

/** Counters are doubles: beyond this each addition rounds. */
const EXACT_MAX = 2n ** 53n;

/** Additions of a run together change less of a count than this part. */
const ROUNDED_PART = 2n ** 40n;

/** Names whose counts are not the same, with both. */
export function countsThatDiffer(counted: Counts, expected: Counts): string[] {
  const names = new Set([...counted.keys(), ...expected.keys()]);
  return [...names].sort().flatMap((name) => {
    const [found = 0n, due = 0n] = [counted.get(name), expected.get(name)];
    const apart = found > due ? found - due : due - found;
    const mayBeApart = due > EXACT_MAX ? due / ROUNDED_PART : 0n;
    return apart <= mayBeApart ? [] : [`${name}: ${found}, not ${due}`];
  });
}

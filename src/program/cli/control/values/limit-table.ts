/** A table of limits in force: where each comes from, and what is left in its bucket. */

import type { ExplainedLimit, LimitSource } from '../../../../administration/admin-client/operations';
import { hitsText } from '../../../../lib/text/amount';
import { printable } from '../../admin/printable';
import { showLimit } from './limit-text';
import { textTable } from './text-table';
import { shortTime } from './until';

/** Indented lines; none without limits. */
export function limitTable(limits: readonly ExplainedLimit[]): readonly string[] {
  if (limits.length === 0) return [];
  const rows = limits.flatMap((limit) => {
    const { candidate } = limit;
    const pool = limit.pool === undefined ? '' : ` in the pool of ${printable(limit.pool)}`;
    const row = [`${showLimit(limit)}${pool}`, leftOf(limit), sourceText(limit.source)];
    return candidate === undefined ? [row] : [row, [`candidate ${showLimit(candidate)}`, leftOf(candidate), sourceText(candidate.source)]];
  });
  return textTable(['LIMIT', 'LEFT', 'FROM'], rows)
    .split('\n')
    .map((line) => `  ${line}`);
}

function leftOf({ bucket, show }: Pick<ExplainedLimit, 'bucket' | 'show'>): string | undefined {
  return bucket && hitsText(bucket.remaining, show);
}

const WORDS = {
  rule: 'rule',
  plan: 'plan',
  plan_values: 'run-time values of the plan',
  override: 'override',
  request: 'the request',
} as const satisfies Readonly<Record<LimitSource['from'], string>>;

/** `override sale until 2026-11-27 18:00 by ann: sale, instead of 100/minute of limits.yaml:4`. */
function sourceText({ from, record, file, line, replaces }: LimitSource): string {
  const place = file === undefined || line === undefined ? '' : `${file}:${line}`;
  const own = record === undefined ? '' : ` ${record.id}`;
  const { until, author, reason } = record ?? {};
  const notes = [
    until === undefined ? '' : ` until ${shortTime(until)}`,
    author === undefined || author === '' ? '' : ` by ${author}`,
    reason === undefined || reason === '' ? '' : `: ${reason}`,
  ].join('');
  const instead = replaces === undefined ? '' : `, instead of ${showLimit(replaces)}`;
  return `${WORDS[from]}${own}${notes}${instead}${place === '' ? '' : `${replaces === undefined ? ' at' : ' of'} ${place}`}`;
}

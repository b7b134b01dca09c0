/** Reads the limits that descriptors of a command line bring along: `--limit 20/minute` after the descriptor that it is of. */

import type { LimitOverride } from '../descriptor/descriptor';
import { isLimitProblem, makeLimit } from '../rule/limit';
import { UNIT_NAMES } from '../rule/unit';
import { UsageError } from './usage-error';

/** Of `parseArgs`, in the order of the command line. */
interface Token {
  readonly kind: string;
  readonly name?: string;
  readonly value?: string | undefined;
}

/** By the place of the descriptor among the descriptors. */
export function readOverrides(tokens: readonly Token[]): ReadonlyMap<number, LimitOverride> {
  const overrides = new Map<number, LimitOverride>();
  let index = -1;
  for (const { kind, name, value = '' } of tokens) {
    if (kind !== 'option') continue;
    if (name === 'descriptor') index += 1;
    if (name !== 'limit') continue;
    if (index < 0) throw new UsageError('--limit is not after a --descriptor; give it after the one that it is of');
    if (overrides.has(index)) throw new UsageError(`--limit: ${JSON.stringify(value)} is a second one after its --descriptor; give one`);
    overrides.set(index, readOverride(value));
  }
  return overrides;
}

/** Requests per unit, or per so many units. */
function readOverride(text: string): LimitOverride {
  const [, requests = '', multiplier = '', word = ''] = /^(\d{1,16})\/(\d{0,16})([a-z]+)$/.exec(text) ?? [];
  const unit = UNIT_NAMES.find((each) => each === word);
  if (unit === undefined) throw new UsageError(`--limit: ${JSON.stringify(text)} is not accepted; use 20/minute or 20/5minute, with one of ${UNIT_NAMES.join(', ')}`);
  const override = { requestsPerUnit: Number(requests), unit, unitMultiplier: multiplier === '' ? 1 : Number(multiplier) };
  // Which algorithm counts it is not known here; without a burst all of them have the same bounds.
  const made = makeLimit({ ...override, algorithm: 'fixed_window' });
  if (isLimitProblem(made)) throw new UsageError(`--limit: ${JSON.stringify(text)} is not accepted: ${made.field} ${made.message}`);
  return override;
}

/** Reads override limits from the command line: `--limit 20/minute` after the descriptor that it belongs to. */

import { REFERENCE_ALGORITHM } from '../../domain/algorithm/algorithms';
import type { LimitOverride } from '../../domain/descriptor/descriptor';
import { isLimitProblem, makeLimit, UINT32_MAX } from '../../domain/rule/limit';
import { TIME_UNITS } from '../../domain/descriptor/unit';
import { UsageError } from './usage-error';

/** A token of `parseArgs`; tokens are in the order of the command line. */
interface Token {
  readonly kind: string;
  readonly name?: string;
  readonly value?: string | undefined;
}

/** By index of the descriptor. */
export function readOverrides(tokens: readonly Token[]): ReadonlyMap<number, LimitOverride> {
  const overrides = new Map<number, LimitOverride>();
  let index = -1;
  for (const { kind, name, value = '' } of tokens) {
    if (kind !== 'option') continue;
    if (name === 'descriptor') index += 1;
    if (name !== 'limit') continue;
    if (index < 0) throw new UsageError('--limit has no --descriptor before it; write it after the descriptor that it belongs to');
    if (overrides.has(index))
      throw new UsageError(`--limit: ${JSON.stringify(value)} is the second --limit of its --descriptor; write only one`);
    const override = readOverride(value);
    if (override.requestsPerUnit > UINT32_MAX)
      throw new UsageError(
        `--limit: ${JSON.stringify(value)} is not accepted: requests_per_unit must be a whole number from 0 to ${UINT32_MAX}, the most that a call brings`,
      );
    overrides.set(index, override);
  }
  return overrides;
}

/** Requests per unit, or per several units; the value of `--limit`. */
export function readOverride(text: string): LimitOverride {
  const [, requests = '', multiplier = '', word = ''] = /^(\d{1,16})\/(\d{0,16})([a-z]+)$/.exec(text) ?? [];
  const unit = TIME_UNITS.find((each) => each === word);
  if (unit === undefined)
    throw new UsageError(
      `--limit: ${JSON.stringify(text)} is not accepted; use 20/minute or 20/5minute, with one of ${TIME_UNITS.join(', ')}`,
    );
  const override = { requestsPerUnit: Number(requests), unit, unitMultiplier: multiplier === '' ? 1 : Number(multiplier) };
  // The algorithm of the rule is unknown here; without a burst all algorithms have the same bounds.
  const made = makeLimit({ ...override, algorithm: REFERENCE_ALGORITHM });
  if (isLimitProblem(made)) throw new UsageError(`--limit: ${JSON.stringify(text)} is not accepted: ${made.field} ${made.message}`);
  return override;
}

/** Why an override changes no limit of a rule. */

import type { OverrideRecord } from '../../../state/control/control-record';
import { didYouMean } from '../../../lib/text/did-you-mean';
import { overrideLimits } from '../../../domain/rule/apply-override';
import type { SelectedOverride } from '../../../domain/rule/control-view';
import { isRateLimit, type Limit } from '../../../domain/rule/limit';
import { replaceValues } from '../../../domain/rule/replace-values';
import { listNames, type Reason } from './warning';

export interface OverrideReasonInput {
  readonly record: OverrideRecord;
  /** The limits of the rule or plan, before overrides. */
  readonly limits: readonly Limit[];
  /** The overrides that select the descriptor, by precedence; the record is among them. */
  readonly overrides: readonly SelectedOverride[];
  /** The rule or plan, in words. */
  readonly owner: string;
}

/** Undefined: it replaces a limit, or is tried beside one. */
export function overrideReason({ record, limits, overrides, owner }: OverrideReasonInput): Reason | undefined {
  const { sources } = overrideLimits(limits, { overrides });
  const [own, other] = record.candidate === true ? (['candidate', 'limit'] as const) : (['limit', 'candidate'] as const);
  if (sources.some((source) => source[own]?.id === record.id && source[other]?.id !== record.id)) return undefined;
  const counted = limits.filter(isRateLimit);
  const [first] = counted;
  if (first === undefined)
    return { code: 'nothing_to_replace', message: `${owner} has no rate limit that it could replace; add one to the configuration` };
  const { name } = record.limit;
  if (name === undefined && counted.length > 1) {
    const named = counted.filter((limit) => limit.name !== '').map((limit) => limit.name);
    const advice = named.length === 0 ? 'give its limits names in the configuration' : `name one of ${listNames(named)}`;
    return { code: 'needs_name', message: `${owner} has ${counted.length} limits, and the override names none; ${advice}` };
  }
  const meant = name === undefined ? first : counted.find((limit) => limit.name === name);
  if (meant === undefined) return { code: 'unknown_limit', message: `${owner} has ${unknownName(name ?? '', counted)}` };
  const winner = sources[limits.indexOf(meant)]?.[own];
  if (winner !== undefined)
    return {
      code: 'hidden_by_override',
      message: `the override ${winner.id} wins, because it has more entries, more values or is newer; delete it, or change that one`,
    };
  return replaceValues(meant, record.limit) === undefined ? impossible(meant, owner) : sharedWindow(owner);
}

/** `no limit "x"; did you mean "y"? it has "y", "z"`. */
export function unknownName(name: string, limits: readonly Limit[]): string {
  const names = limits.filter((limit) => limit.name !== '').map((limit) => limit.name);
  const guess = didYouMean(name, names);
  const known = names.length === 0 ? 'its limits have no names, so leave the name out' : `it has ${listNames(names)}`;
  return `no limit ${JSON.stringify(name)}; ${guess === undefined ? '' : `did you mean ${JSON.stringify(guess)}? `}${known}`;
}

export function impossible({ algorithm }: Limit, owner: string): Reason {
  return {
    code: 'impossible_values',
    message: `the algorithm ${algorithm} of ${owner} cannot count these values; use a smaller limit or burst, or another algorithm`,
  };
}

export function sharedWindow(owner: string): Reason {
  return {
    code: 'shared_window',
    message: `two limits of ${owner} would have one algorithm and window, and count each hit twice; use another unit or unit_multiplier`,
  };
}
